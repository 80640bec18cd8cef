"""What is told of each source: what was read, what was not, and what to do about it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.sources import Coverage, Gap
from pipeline.sources.coverage import UnreadKey, by_source, empties
from tests.pipeline.sources.reading import read_all
from tests.support.places import DATA

WriteJson = Callable[[str, Any], Path]
WriteLines = Callable[[str, list[Any]], Path]
SHAPES = DATA / "shapes"


def coverage(folder: Path, *sources: dict[str, Any]) -> tuple[Coverage, ...]:
    return read_all(folder, *sources).coverage


def of_rows(write_json: WriteJson, rows: list[Any]) -> Coverage:
    (found,) = coverage(write_json("tools.json", rows).parent, {"path": "tools.json"})
    return found


def test_each_source_is_counted_by_itself(tmp_path: Path, write_json: WriteJson, write_lines: WriteLines) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    write_json("mail.json", [{"name": "send", "description": "Sends.", "parameters": schema}, {"name": "list"}])
    write_lines("more.jsonl", [{"name": "a", "description": " "}, "{", {"description": "no name"}])
    mail, more = coverage(tmp_path, {"path": "mail.json"}, {"path": "more.jsonl"})
    assert (mail.records, mail.tools, mail.described, mail.with_parameters, mail.rejected) == (2, 2, 1, 1, 0)
    assert mail.shapes == {"parameters: JSON Schema": 1} and mail.problems == ()
    assert (more.records, more.tools, more.described, more.rejected) == (3, 1, 0, 2)
    assert set(more.reasons.values()) == {1} and "name is missing or empty" in more.reasons
    assert more.problems[0].startswith("2 of 3 records were rejected: 1 because not JSON")


@pytest.mark.parametrize(
    ("parameters", "lost"),
    [
        ({"args": "--city CITY"}, "args"),
        ({"arguments": [1, 2]}, "arguments"),
        ({"parameters": {"title": "A", "description": "B"}}, "parameters"),
        ({"parameters": {"type": "string"}}, "parameters"),
        ({"parameters": {}}, None),
        ({"parameters": {"type": "object", "properties": {}}}, None),
        ({"inputSchema": {"type": "object", "title": "listArguments", "additionalProperties": False}}, None),
        ({"args": "x", "parameters": {"type": "object", "properties": {"a": {}}}}, None),
    ],
)
def test_parameters_that_are_declared_and_not_read_are_the_first_problem(
    write_json: WriteJson, parameters: dict[str, Any], lost: str | None
) -> None:
    found = of_rows(write_json, [{"name": "a", **parameters}])
    assert (found.lost_parameters, found.lost_under) == ((1, (lost,)) if lost else (0, ()))
    if lost:
        assert found.problems[0] == f"1 of 1 tools declare parameters under `{lost}` that could not be read"


def test_keys_that_many_records_have_are_told_with_an_example(write_json: WriteJson) -> None:
    rows = [{"name": f"t{n}", "toolbox": "mail", "version": 3, "$x": 1, "icon": "a.png"} for n in range(9)]
    rows.append({"name": "last", "rare": "once", "usage_hint": "at night", "toolbox": "", "x-order": 4})
    for row in rows[:2]:  # a fifth of them
        row["level"] = "\x9bmlow"  # no sentence has what a terminal obeys
    found = of_rows(write_json, rows)
    shown = (UnreadKey("toolbox", 9, "mail"), UnreadKey("level", 2, "\x9bmlow"), UnreadKey("usage_hint", 1, "at night"))
    assert found.unread == shown
    assert found.problems == ("keys that were not read: toolbox (9: mail), level (2: low), usage_hint (1: at night)",)


def test_an_operations_own_keys_are_told_too_and_a_source_without_a_record(
    tmp_path: Path, write_json: WriteJson
) -> None:
    operation = {"operationId": "list", "responses": {}, "x-order": 3, "usage_notes": "for admins"}
    write_json("api.json", {"openapi": "3.0.0", "paths": {"/a": {"get": operation}}})
    (found,) = coverage(tmp_path, {"path": "api.json"})
    assert found.unread == (UnreadKey("usage_notes", 1, "for admins"),)
    found = of_rows(write_json, [])
    assert (found.records, found.empty, found.problems) == (0, True, ("it holds no tool",))


def test_where_no_record_has_a_name_the_keys_and_the_way_out_are_told() -> None:
    (found,) = coverage(SHAPES, {"path": "unknown_keys.jsonl"})
    assert found.unnamed == ("api_name", "functionality", "api_arguments", "domain")
    assert found.problems == (
        "none of the 2 records has a name. Their keys are `api_name`, `functionality`, `api_arguments`, `domain`: say "
        'in catalog.toml, under the [[source]], which of them is which, such as [source.fields] name = "api_name"',
    )


def test_a_name_setting_that_selects_nothing_is_told_with_the_keys(tmp_path: Path, write_json: WriteJson) -> None:
    write_json("tools.json", [{"api_name": "a"}])
    (found,) = coverage(tmp_path, {"path": "tools.json", "fields": {"name": "api_nam"}})
    assert found.advice is not None
    assert found.advice.startswith(
        "none of the 1 records has a name: source.fields.name = 'api_nam' gives no name. Their keys are `api_name`: "
    )
    advice = of_rows(write_json, [{"tool\u202e name": "a"}]).advice
    assert advice is not None and advice.endswith("""[source.fields] name = '"tool name"'""")
    some = of_rows(write_json, [{"name": "a"}, {"title": "b"}])  # where some have a name there is no advice
    assert some.advice is None
    assert some.problems == ("1 of 2 records were rejected: 1 because name is missing or empty",)


def test_sources_of_one_name_are_told_apart() -> None:
    assert list(by_source([Coverage("a"), Coverage("b"), Coverage("a"), Coverage("a")])) == ["a", "b", "a (2)", "a (3)"]


def test_a_few_empty_sources_are_named_and_all_are_counted() -> None:
    gaps = [Gap(f"{number}.json", f"{number}.json") for number in range(5)]
    assert empties(gaps, 20) == "5 of 20 sources hold no tool: 0.json, 1.json, 2.json and 2 more"
    assert empties([Gap("a", "a", "why")], 20) == ""
