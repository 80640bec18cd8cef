"""[source.fields]: sources of any other shape, mapped by JMESPath."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.settings import CatalogSettings, FieldSettings, load
from pipeline.sources import Reading, read
from router.record import Origin

WriteJson = Callable[[str, Any], Path]
WriteLines = Callable[[str, list[Any]], Path]

API = {
    "api_name": "rent_car",
    "functionality": "Rents a car.",
    "api_arguments": {"place": "(string) Where.", "days": "(integer) How long."},
    "api_call": "rent_car(place, days)",
    "meta": {"area": "travel", "asked": ["a car for a week"]},
}
FIELDS = {"name": "api_name", "description": "functionality", "parameters": "api_arguments"}


def reading(path: Path, fields: dict[str, str], **source: Any) -> Reading:
    return read(CatalogSettings(name="x", folder=path.parent, source=[{"path": path.name, "fields": fields, **source}]))


def test_each_field_is_where_its_expression_says(write_lines: WriteLines) -> None:
    fields = {**FIELDS, "category": "meta.area", "examples": "meta.asked", "id": "join('.', ['zoo', api_name])"}
    found = reading(write_lines("zoo.jsonl", [API]), {**fields, "provider": "meta.area"})
    (tool,) = found.tools
    assert (tool.name, tool.description, tool.provider) == ("rent_car", "Rents a car.", "travel")
    assert (tool.id, tool.categories, tool.examples) == ("zoo.rent_car", ("travel",), ("a car for a week",))
    assert list(tool.input_schema["properties"]) == ["place", "days"]
    assert (tool.origin, tool.shape) == (Origin("zoo.jsonl", "line 1"), "parameters: object by name")
    assert tool.unread == {"api_call": "rent_car(place, days)"}  # what is mapped counts as read


def test_fields_without_an_expression_are_read_as_ever_and_mapped_ones_come_first(write_json: WriteJson) -> None:
    row = {"name": "a", "text": "does it", "inputSchema": {"properties": {"wrong": {}}}, "takes": {"right": "str"}}
    fields = {"parameters": "takes", "description": "join(' ', [name, text])"}
    (tool,) = reading(write_json("zoo.json", {"tools": [row]}), fields).tools
    assert (tool.name, tool.description, tool.provider) == ("a", "a does it", "zoo")
    assert list(tool.input_schema["properties"]) == ["right"]


@pytest.mark.parametrize(
    ("document", "fields", "pointers"),
    [
        ({"apis": [API, API]}, {"tools": "apis"}, ["/apis/0", "/apis/1"]),
        ({"a": {"b": [{"c~/d": [API]}]}}, {"tools": 'a.b[]."c~/d"[]'}, ["/a/b/0/c~0~1d/0"]),
        ([{"v": "x", "apis": [API]}, {"v": "y", "apis": [API]}], {"tools": "[].apis[]"}, ["/0/apis/0", "/1/apis/0"]),
        ([{"apis": [API]}], {"servers": "@", "tools": "apis"}, ["/0/apis/0"]),
        ({"apis": [API]}, {"tools": "apis[].{api_name: api_name}"}, ["/apis[].{api_name: api_name}/0"]),
    ],
)
def test_the_selected_records_have_their_pointers(
    write_json: WriteJson, document: Any, fields: dict[str, str], pointers: list[str]
) -> None:
    found = reading(write_json("zoo.json", document), {**FIELDS, **fields})
    assert [tool.origin.pointer for tool in found.tools] == pointers


def test_the_provider_is_sought_in_the_record_then_in_its_server(write_json: WriteJson) -> None:
    document = [
        {"vendor": "acme", "apis": [API, {**API, "vendor": "own"}]},
        {"name": "by name", "apis": [API]},
    ]
    fields = {**FIELDS, "servers": "[]", "tools": "apis", "provider": "vendor"}
    assert [tool.provider for tool in reading(write_json("zoo.json", document), fields).tools] == [
        "acme",
        "own",
        "by name",
    ]
    (first, *_) = reading(write_json("zoo.json", document), fields, provider="ours").tools
    assert first.provider == "ours"


def test_lines_may_hold_several_records(write_lines: WriteLines) -> None:
    path = write_lines("zoo.jsonl", [{"apis": [API, API]}, {"other": 1}, "{", {"apis": []}])
    found = reading(path, {**FIELDS, "tools": "apis"})
    assert [tool.origin.pointer for tool in found.tools] == ["line 1/apis/0", "line 1/apis/1"]
    assert found.rejected[0].reason == "source.fields.tools = 'apis' selects no list; the keys here are other"
    assert [rejected.origin.pointer for rejected in found.rejected] == ["line 2", "line 3"]


def test_a_document_in_which_nothing_is_selected_stops_the_run_with_its_keys(write_json: WriteJson) -> None:
    path = write_json("zoo.json", {"apis": [API]})
    with pytest.raises(RunAborted, match=r"source\.fields\.tools = 'tolls' selects no list; the keys here are apis"):
        reading(path, {"tools": "tolls"})
    with pytest.raises(RunAborted, match=r"no list of tools that is known: say in source\.fields where they are"):
        reading(path, {"name": "api_name"})
    with pytest.raises(RunAborted, match=r"source\.fields\.servers = 'keys\(apis\)' selects no list"):
        reading(path, {"servers": "keys(apis)"})


def test_a_record_in_which_an_expression_finds_no_name_or_fails_is_rejected_with_it(write_json: WriteJson) -> None:
    found = reading(write_json("zoo.json", [API, {"functionality": "?"}, 7]), FIELDS)
    assert [rejected.reason for rejected in found.rejected] == [
        "source.fields.name = 'api_name' gives no name",
        "a tool is a JSON object, this is a number",
    ]
    rows = [{"name": "a", "tags": ["x", "y"]}, {"name": "b", "tags": 7}]
    found = reading(write_json("zoo.json", rows), {"description": "join(', ', tags)"})
    assert [tool.description for tool in found.tools] == ["x, y"]
    assert len(found.rejected) == 1 and found.rejected[0].reason.startswith("source.fields: In function join()")


@pytest.mark.parametrize(
    ("expression", "names"), [("apis[1:]", "bcd"), ("apis[:2]", "ab"), ("apis[::-1]", "dcba"), ("apis[1:3][]", "bc")]
)
def test_a_slice_selects_the_records_that_it_names(write_json: WriteJson, expression: str, names: str) -> None:
    path = write_json("zoo.json", {"apis": [{"title": name, "about": [name, "x"]} for name in "abcd"]})
    found = reading(path, {"tools": expression, "name": "title", "description": "about[:1] | [0]"})
    assert [(tool.name, tool.description) for tool in found.tools] == [(name, name) for name in names]


@pytest.mark.parametrize(
    "expression",
    ["max_by(rows, &at)", "contains(text, `1`)", "rows[?at < `2`]", "ceil(to_number(huge))", "rows" + "|@" * 5_000],
)
def test_an_expression_that_fails_over_values_selects_nothing_or_rejects_the_record(
    write_json: WriteJson, expression: str
) -> None:
    row = {"name": "a", "rows": [{"at": 1}, {"at": "x"}], "text": "t", "huge": "1e999"}
    path = write_json("zoo.json", [row])
    (rejected,) = reading(path, {"description": expression}).rejected
    assert rejected.reason.startswith("source.fields: ")
    with pytest.raises(RunAborted, match=r"source\.fields\.tools = .* selects no list"):
        reading(write_json("zoo.json", row), {"tools": expression})


@pytest.mark.parametrize(
    ("field", "expression", "said"),
    [
        ("name", "api..name", "'api..name' is not a JMESPath expression: Expecting: "),
        ("description", "a[", "'a[' is not a JMESPath expression: Incomplete expression"),
        ("tools", "api name", 'Parse error at column 4, token "name"'),
        ("provider", "", "cannot be empty"),
        ("id", "shout(name)", "'shout(name)' calls shout(), which JMESPath does not have: it has abs, avg"),
        ("tools", "apis[::0]", "'apis[::0]' has a slice with the step 0: leave the step out"),
        ("nam", "x", 'nam: unknown setting, did you mean "name"?'),
    ],
)
def test_a_wrong_expression_is_refused_before_anything_is_read(
    tmp_path: Path, field: str, expression: str, said: str
) -> None:
    text = f'[[source]]\npath = "zoo.json"\n[source.fields]\n{field} = "{expression}"\n'
    (tmp_path / "catalog.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsInvalid) as refused:
        load(tmp_path, environment={})
    assert str(refused.value).count("source 1: fields") == 1 and said in str(refused.value)


def test_a_wrong_expression_with_half_a_surrogate_pair_is_refused_like_any_other() -> None:
    with pytest.raises(ValidationError, match=r"'a .ud800' is not a JMESPath expression"):
        FieldSettings.model_validate({"name": "a \ud800"})
