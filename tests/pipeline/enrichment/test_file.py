"""Expansions that were written beforehand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment import Expansion, GenerationFailure
from pipeline.enrichment.file import FileGenerator
from pipeline.enrichment.generator import GeneratedExpansion, TokenUsage
from pipeline.errors import RunAborted
from tests.pipeline.enrichment.model_server import replies
from tests.support.factories import make_record

Write = Callable[[str, list[Any]], Path]


def _line(tool_id: str = "stripe/list_charges", *phrases: str) -> dict[str, Any]:
    return {"id": tool_id, "when_to_use": "Use it.", "user_phrases": list(phrases or ("pull payments",))}


def test_a_line_is_replayed_for_its_tool_at_no_cost(write_lines: Write) -> None:
    generator = FileGenerator(write_lines("expansions.jsonl", [_line(), _line("stripe/create_refund", "undo it")]))
    outcomes = list(replies(generator, [make_record("create_refund"), make_record()]))
    assert outcomes == [
        GeneratedExpansion("stripe/create_refund", Expansion("Use it.", ("undo it",)), TokenUsage(0, 0, 0, 0.0)),
        GeneratedExpansion("stripe/list_charges", Expansion("Use it.", ("pull payments",)), TokenUsage(0, 0, 0, 0.0)),
    ]
    assert generator.rejected == []


def test_a_tool_without_a_line_is_left_to_the_next_generator(write_lines: Write) -> None:
    generator = FileGenerator(write_lines("expansions.jsonl", [_line()]))
    assert generator.key(make_record("create_refund")) is None
    assert generator.key(make_record()) is not None


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{not json", "not JSON"),
        ('{"id": "a", "score": NaN}', "NaN is not JSON"),
        ({"user_phrases": ["a"]}, "the id of its tool"),
        ({"id": 7, "user_phrases": ["a"]}, "the id of its tool"),
        (["stripe/create_refund"], "the id of its tool"),
        (_line("stripe/list_charges", "another"), "stripe/list_charges has an expansion already: the first is kept"),
    ],
)
def test_a_bad_line_is_rejected_with_its_number_and_the_rest_are_read(
    write_lines: Write, bad: object, reason: str
) -> None:
    generator = FileGenerator(write_lines("e.jsonl", [_line(), "", bad, _line("stripe/create_refund")]))
    (rejected,) = generator.rejected
    assert (rejected.origin.file, rejected.origin.pointer) == ("e.jsonl", "line 3")
    assert reason in rejected.reason
    first, second = replies(generator, [make_record(), make_record("create_refund")])
    assert isinstance(first, GeneratedExpansion) and first.expansion.user_phrases == ("pull payments",)
    assert isinstance(second, GeneratedExpansion)


def test_expansions_of_unknown_tools_are_listed(write_lines: Write) -> None:
    generator = FileGenerator(write_lines("e.jsonl", [_line(), _line("gone/tool")]))
    (unknown,) = generator.unknown(frozenset({"stripe/list_charges", "stripe/create_refund"}))
    assert (unknown.origin.file, unknown.origin.pointer) == ("e.jsonl", "gone/tool")


def test_an_edited_line_has_another_key_and_its_neighbour_has_not(write_lines: Write) -> None:
    before = FileGenerator(write_lines("e.jsonl", [_line(), _line("stripe/create_refund")]))
    after = FileGenerator(write_lines("e.jsonl", [_line("stripe/list_charges", "edit"), _line("stripe/create_refund")]))
    assert before.key(make_record()) != after.key(make_record())
    assert before.key(make_record("create_refund")) == after.key(make_record("create_refund"))


def test_the_order_of_a_lines_fields_does_not_change_its_key(write_lines: Write) -> None:
    before = FileGenerator(write_lines("e.jsonl", [_line()]))
    after = FileGenerator(write_lines("e.jsonl", [dict(reversed(_line().items()))]))
    assert before.key(make_record()) == after.key(make_record())


def test_a_line_of_the_wrong_shape_is_a_failure_and_the_rest_go_on(write_lines: Write) -> None:
    wrong = {"id": "stripe/list_charges", "user_phrases": "pull payments"}
    generator = FileGenerator(write_lines("e.jsonl", [wrong, _line("stripe/create_refund")]))
    first, second = replies(generator, [make_record(), make_record("create_refund")])
    assert first == GenerationFailure("stripe/list_charges", "shape", "user_phrases is not a list of texts")
    assert isinstance(second, GeneratedExpansion)


def test_a_missing_file_aborts_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(RunAborted, match=r"nowhere\.jsonl does not exist"):
        FileGenerator(tmp_path / "nowhere.jsonl")


def test_a_file_that_is_not_utf_8_aborts(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(b'{"id": "a", "user_phrases": ["caf\xe9"]}\n')
    with pytest.raises(RunAborted, match="not UTF-8"):
        FileGenerator(tmp_path / "e.jsonl")
