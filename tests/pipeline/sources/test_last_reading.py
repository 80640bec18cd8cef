"""What a source gave, as text and back; and the keys that sources are known by."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pipeline.errors import RecordRejected, RunAborted, Unavailable
from pipeline.records import catalog_records
from pipeline.settings import SourceSettings
from pipeline.sources import RawTool
from pipeline.sources.last_reading import LastReading, SourceReading, source_keys, stale_source
from router.record import Kind, Link, Origin, Parameter

FULL = RawTool(
    name="send mail",
    origin=Origin("mail.json", "/tools/0"),
    description="Sends \u2028 é 😀.",
    input_schema={"type": "object", "properties": {"z": {"type": "string"}, "a": {"maximum": 10**30, "default": 1.0}}},
    id="mail/send",
    provider="mail",
    examples=("send it",),
    categories=("a,b", "c"),
    annotations={"readOnlyHint": False},
    deprecated=True,
    notices=("a reference is open",),
    shape="inputSchema: object",
    lost="args",
    unread={"x-key": "1"},
    outputs=(Parameter("id", "string", "Its id.", ("a", "b"), True), Parameter("sent", "boolean")),
    links=(Link("id", "read mail", "$response.body#/id"),),
)
READING = SourceReading(
    "key",
    "mail.json",
    (FULL, RawTool("list", Origin("mail.json", "/tools/1"))),
    (RecordRejected(Origin("mail.json", "/tools/2"), "name is missing", keys=("id",)),),
)


def _again(reading: SourceReading) -> SourceReading:
    return SourceReading.from_text(reading.key, reading.source, reading.to_text())


def test_a_reading_comes_back_as_it_was() -> None:
    again = _again(READING)
    assert again.tools == READING.tools and again.to_text() == READING.to_text()
    assert (again.tools[0].shape, again.tools[0].lost, again.tools[0].unread) == (FULL.shape, FULL.lost, FULL.unread)
    assert [(str(row), row.keys) for row in again.rejected] == [(str(row), row.keys) for row in READING.rejected]
    assert catalog_records(again.tools) == catalog_records(READING.tools)
    assert list(again.tools[0].input_schema["properties"]) == ["z", "a"]  # field text depends on the order
    assert READING.tool_ids == ("mail/send", "list")
    skill = RawTool("tea", Origin("tea/SKILL.md", ""), kind=Kind.SKILL, instructions="Boil water.")
    assert _again(SourceReading("key", "skills", (skill,))).tools == (skill,)


def test_a_reading_that_the_version_before_skills_wrote_is_read() -> None:
    row: dict[str, Any] = {"name": "list", "origin": ["mail.json", "/tools/1"], "description": "", "shape": ""}
    row |= {"provider": None, "deprecated": False, "lost": None, "id": "", "examples": [], "categories": []}
    row |= {"input_schema": {}, "annotations": {}, "notices": [], "unread": {}}
    assert json.loads(READING.to_text())["tools"][1].keys() == row.keys()  # a tool is written as it was
    (tool,) = SourceReading.from_text("key", "mail.json", json.dumps({"tools": [row], "rejected": []})).tools
    assert (tool.kind, tool.instructions) == (Kind.TOOL, "")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"tools": [{"name": "a"}], "rejected": []}', "null"])
def test_a_text_of_another_version_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        SourceReading.from_text("key", "mail.json", text)


def _keys(*sources: dict[str, Any]) -> list[str]:
    return list(source_keys([SourceSettings(**source) for source in sources]))


def test_a_source_has_a_key_of_its_own_that_says_nothing() -> None:
    sources: list[dict[str, Any]] = [
        {"path": "a.json"},
        {"path": "b.json"},
        {"path": "a.json", "provider": "x"},
        {"path": "a.json", "fields": {"name": "api"}},
        {"command": ("npx", "b")},
        {"command": ("npx", "b"), "env": {"TENANT": "2"}},
        {"url": "https://x.example/t?page=1", "format": "jsonl"},
        {"url": "https://x.example/t?page=2", "format": "jsonl"},
        {"url": "https://x.example/t?page=2", "format": "function"},
    ]
    keys = _keys(*sources)
    assert len(set(keys)) == len(sources) and all(len(key) == 64 for key in keys)
    assert _keys(*sources[::-1])[::-1] != keys  # only of equal sources does the order count
    assert _keys(*sources[:5][::-1])[::-1] == keys[:5]


def test_a_key_does_not_depend_on_a_password_or_on_how_a_source_is_asked() -> None:
    plain = {"url": "https://x.example/t", "format": "jsonl"}
    assert _keys(plain) == _keys({**plain, "url": "https://ada:pw@x.example/t"})
    assert _keys(plain) == _keys({**plain, "timeout_s": 5, "headers": {"Authorization": "Bearer ${TOKEN}"}})


@pytest.mark.parametrize("kind", [RunAborted, Unavailable])
def test_a_source_that_is_too_old_fails_as_it_did_and_says_since_when(kind: type[RunAborted]) -> None:
    last = LastReading(READING, datetime.now(UTC) - timedelta(hours=36))
    told = stale_source(kind("it is\ndown"), last, timedelta(days=2))
    assert told.reason == "it is down" and told.tools == 2 and str(told).endswith(" UTC, 1.5 days ago)")
    assert json.dumps(told.to_json()) and 129_600 <= told.to_json()["age_s"] < 129_700
    with pytest.raises(RunAborted, match=r"are 1\.5 days old: sources\.max_age allows 1 day$") as stopped:
        stale_source(kind("it is down"), last, timedelta(days=1))
    assert type(stopped.value) is kind
