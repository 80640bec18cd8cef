"""Token counts."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import regex
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from pipeline.tokens import _SEAM, TokenCounter, _tiktoken
from router.provider_formats.formats import Detail, ProviderFormat
from router.provider_formats.rendering import render
from tests.support.factories import make_record

# tiktoken's own; where its tables are not at hand, its patterns are.
CL100K = "|".join(
    [
        r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+""",
        r"""\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
    ]
)
O200K = "|".join(
    [
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    ]
)


def test_without_tiktokens_file_the_count_is_an_estimate_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    # A proxy that nobody serves: the download fails at once, whatever the machine can reach.
    for variable in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})  # another package may have loaded a file of its own
    _tiktoken.cache_clear()
    counter = TokenCounter()
    _tiktoken.cache_clear()
    record = make_record(input_schema={"type": "object"})
    schema = {"type": "object", "properties": {}}
    function = {"name": "stripe__list_charges", "description": "Returns charges.", "parameters": schema}
    text = json.dumps({"type": "function", "function": function}, separators=(",", ":"))
    assert counter.name == "estimate"
    assert counter.count(record) == math.ceil(len(text) / 4)


@pytest.fixture
def encoding(monkeypatch: pytest.MonkeyPatch) -> tiktoken.Encoding:
    """An encoding that cuts texts as OpenAI's do, by the pattern of theirs, into bytes and a few pairs of them."""
    pairs = (b"th", b"he", b'":', b'{"', b'"}', b"}}", b',"', b"er", b"in", b"on", b"str", b"name", b"type", b"string")
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {pair: 256 + number for number, pair in enumerate(pairs)}
    made = tiktoken.Encoding("small", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={})
    monkeypatch.setattr("pipeline.tokens._tiktoken", lambda name: made.encode_ordinary)
    return made


def test_the_tokens_of_each_form_and_detail_are_those_of_its_compact_json(encoding: tiktoken.Encoding) -> None:
    properties = {"charge": {"type": "string", "description": 'Which.\n"x"…顧客 {a} 3.5'}, "$top": {"type": "integer"}}
    records = [
        make_record("refund", description="It's 2 of 3:\n- one's;\n  {x}!", input_schema={"properties": properties}),
        make_record("list", description="", input_schema={"anyOf": [{}]}, annotations={"title": "List", "x": 1}),
        make_record("get", input_schema={}),
    ]
    counts = TokenCounter().counts(records)
    assert counts.shape == (3, len(ProviderFormat), len(Detail)) and counts.dtype == np.int32
    for record, row in zip(records, counts, strict=True):
        for (form, detail), tokens in np.ndenumerate(row):
            (tool,) = render([record], list(ProviderFormat)[form], detail=list(Detail)[detail]).tools
            text = json.dumps(tool, separators=(",", ":"), ensure_ascii=False)
            assert tokens == len(encoding.encode_ordinary(text))


@pytest.mark.parametrize("pattern", [CL100K, O200K])
@given(st.text(st.sampled_from("abS{\"':,.!é顧 \n3}/\\") | st.characters(), max_size=40))
def test_the_pieces_of_a_text_are_cut_as_the_whole_is(pattern: str, text: str) -> None:
    cut = regex.compile(pattern).findall
    assert [piece for part in _SEAM.split(text) for piece in cut(part)] == cut(text)
