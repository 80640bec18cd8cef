"""Token counts."""

import json
import math
from pathlib import Path

import pytest

from pipeline.tokens import TokenCounter, _tiktoken
from tests.factories import make_record


def test_without_tiktokens_file_the_count_is_an_estimate_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    # A proxy that nobody serves: the download fails at once, whatever the machine can reach.
    for variable in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    _tiktoken.cache_clear()
    counter = TokenCounter()
    _tiktoken.cache_clear()
    record = make_record(input_schema={"type": "object"})
    function = {"name": "list_charges", "description": "Returns charges.", "parameters": {"type": "object"}}
    text = json.dumps({"type": "function", "function": function}, separators=(",", ":"))
    assert counter.name == "estimate"
    assert counter.count(record) == math.ceil(len(text) / 4)
