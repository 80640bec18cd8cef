"""Expansions that were written beforehand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment import Expansion, GenerationFailure
from pipeline.enrichment.chain import FileGenerator
from pipeline.enrichment.generator import GeneratedExpansion, TokenUsage
from pipeline.errors import RunAborted
from router.record import ToolRecord
from tests.pipeline.enrichment.model_server import replies
from tests.support.factories import make_record

Write = Callable[[str, list[Any]], Path]
_LIST, _REFUND = make_record(), make_record("create_refund")


def _line(tool_id: str = "stripe/list_charges", *phrases: str) -> dict[str, Any]:
    return {"id": tool_id, "when_to_use": "Use it.", "user_phrases": list(phrases or ("pull payments",))}


def _key(generator: FileGenerator, record: ToolRecord) -> str:
    question = generator.question(record, "hash")
    assert question is not None
    return question.key


def test_a_line_is_replayed_for_its_tool_at_no_cost_and_a_tool_without_one_is_left(write_lines: Write) -> None:
    wrong = {"id": "stripe/get", "user_phrases": "pull payments"}
    generator = FileGenerator(write_lines("e.jsonl", [_line(), _line("stripe/create_refund", "undo it"), wrong]), {})
    assert list(replies(generator, [_REFUND, make_record("get"), _LIST])) == [
        GeneratedExpansion("stripe/create_refund", Expansion("Use it.", ("undo it",)), TokenUsage(0, 0, 0, 0.0)),
        GenerationFailure("stripe/get", "shape", "user_phrases is not a list of texts"),
        GeneratedExpansion("stripe/list_charges", Expansion("Use it.", ("pull payments",)), TokenUsage(0, 0, 0, 0.0)),
    ]
    assert generator.rejected == [] and generator.question(make_record("cancel"), "") is None


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{not json", "not JSON"),
        ('{"id": "a", "score": NaN}', "it holds a number that is too large, or none (NaN, Infinity)"),
        ({"user_phrases": ["a"]}, "the id of its tool"),
        ({"id": 7, "user_phrases": ["a"]}, "the id of its tool"),
        (["stripe/create_refund"], "the id of its tool"),
        (_line("former", "another"), "former has an expansion already: the first is kept"),
        (_line("stripe/list_charges", "another"), "stripe/list_charges has an expansion already: the first is kept"),
    ],
)
def test_a_bad_line_is_rejected_with_its_number_and_the_rest_are_read(
    write_lines: Write, bad: object, reason: str
) -> None:
    file = write_lines("e.jsonl", [_line(), "", bad, _line("stripe/create_refund")])
    generator = FileGenerator(file, {"former": "stripe/list_charges"})
    (rejected,) = generator.rejected
    assert (rejected.origin.file, rejected.origin.pointer) == ("e.jsonl", "line 3")
    assert reason in rejected.reason
    first, second = replies(generator, [_LIST, _REFUND])
    assert isinstance(first, GeneratedExpansion) and first.expansion.user_phrases == ("pull payments",)
    assert isinstance(second, GeneratedExpansion)


def test_expansions_of_unknown_tools_are_listed(write_lines: Write) -> None:
    generator = FileGenerator(write_lines("e.jsonl", [_line(), _line("gone/tool")]), {})
    (unknown,) = generator.unknown(frozenset({"stripe/list_charges", "stripe/create_refund"}))
    assert (unknown.origin.file, unknown.origin.pointer) == ("e.jsonl", "gone/tool")


def test_an_edited_line_has_another_key_and_its_neighbour_and_a_reordered_one_have_not(write_lines: Write) -> None:
    before, edited, reordered = (
        FileGenerator(write_lines("e.jsonl", [line, _line("stripe/create_refund")]), {})
        for line in (_line(), _line("stripe/list_charges", "edit"), dict(reversed(_line().items())))
    )
    assert _key(before, _LIST) == _key(reordered, _LIST) != _key(edited, _LIST)
    assert _key(before, _REFUND) == _key(edited, _REFUND)


@pytest.mark.parametrize(("content", "reason"), [(None, r"e\.jsonl does not exist"), (b'"caf\xe9"', "not UTF-8")])
def test_a_file_that_cannot_be_read_aborts(tmp_path: Path, content: bytes | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "e.jsonl").write_bytes(content)
    with pytest.raises(RunAborted, match=reason):
        FileGenerator(tmp_path / "e.jsonl", {})
