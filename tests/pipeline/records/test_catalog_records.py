"""All tools of a catalog together: ids told apart, duplicates merged, what an operator should know noticed."""

from typing import Any

import pytest

from pipeline.records import NOTICES, Catalog, Notice, catalog_records, record_hash
from router.record import Origin
from tests.support.factories import make_raw, make_record


def _catalog(*tools: tuple[str, dict[str, Any]]) -> Catalog:
    """Described tools of one file, in order."""
    return catalog_records(
        make_raw(name, origin=Origin("tools.json", f"/{index}"), **{"description": "Does it.", **fields})
        for index, (name, fields) in enumerate(tools)
    )


def _ids(catalog: Catalog) -> list[str]:
    return [record.tool_id for record in catalog.records]


@pytest.mark.parametrize(
    ("tools", "ids"),
    [
        ([("c", {}), ("a", {}), ("b", {"provider": "a"}), ("B", {})], ["B", "a", "a/b", "c"]),
        ([("send mail", {}), ("send-mail", {}), ("send/mail", {})], ["send-mail", "send-mail~2", "send-mail~3"]),
        ([("a", {"id": "1"}), ("a", {"id": "2"})], ["1"]),
        ([("send", {"provider": "gmail"}), ("send", {"provider": "outlook"})], ["gmail/send", "outlook/send"]),
        ([], []),
    ],
    ids=["sorted", "made equal by the id", "a duplicate under another id", "two providers", "nothing"],
)
def test_the_ids_of_a_catalog_are_sorted_and_each_is_there_once(
    tools: list[tuple[str, dict[str, Any]]], ids: list[str]
) -> None:
    assert _ids(_catalog(*tools)) == ids


def test_other_tools_of_one_id_are_numbered_in_source_order_and_a_number_that_is_taken_is_skipped() -> None:
    catalog = _catalog(*(("send", {"description": text}) for text in ("First.", "Second.", "Third.")))
    assert {r.tool_id: r.description for r in catalog.records} == {
        "send": "First.",
        "send~2": "Second.",
        "send~3": "Third.",
    }
    assert catalog.notices == (
        Notice("send~2", "renamed", "the id send was taken", Origin("tools.json", "/1")),
        Notice("send~3", "renamed", "the id send was taken", Origin("tools.json", "/2")),
    )
    assert catalog.hashes == {record.tool_id: record_hash(record) for record in catalog.records}
    assert len(set(catalog.hashes.values())) == 3
    taken = _catalog(("a", {"id": "x~2"}), ("b", {"id": "x"}), ("c", {"id": "x"}))
    assert {r.tool_id: r.name for r in taken.records} == {"x~2": "a", "x": "b", "x~3": "c"}


def test_an_exact_duplicate_is_merged_into_the_first_of_its_content() -> None:
    catalog = _catalog(("send", {"provider": "mail"}), ("list", {}), ("send", {"provider": "mail"}))
    assert _ids(catalog) == ["list", "mail/send"]
    assert catalog.records[1].origin.pointer == "/0"
    message = "mail/send is an exact duplicate"
    assert catalog.notices == (Notice("mail/send", "merged", message, Origin("tools.json", "/2")),)
    renamed = _catalog(("a", {}), ("a", {"description": "Other."}), ("a", {"description": "Other."}))
    assert _ids(renamed) == ["a", "a~2"]
    assert [(n.kind, n.tool_id) for n in renamed.notices] == [("renamed", "a~2"), ("merged", "a~2")]


@pytest.mark.parametrize(
    ("fields", "notices"),
    [
        ({"description": " \n"}, [("thin", "it has no description")]),
        ({"notices": ("x is open", "y is open", "x is open")}, [("open", "x is open"), ("open", "y is open")]),
        ({"description": "지하철 도착 정보 조회"}, [("unread", "not English (Hangul letters)")]),
        ({"description": "Books a table."}, []),
    ],
)
def test_what_an_operator_should_know_of_a_tool_is_noticed_once_and_counted(
    fields: dict[str, Any], notices: list[tuple[str, str]]
) -> None:
    catalog = _catalog(("a", fields))
    assert _ids(catalog) == ["a"]
    for notice, (kind, message) in zip(catalog.notices, notices, strict=True):
        assert (notice.tool_id, notice.kind, notice.origin.pointer) == ("a", kind, "/0") and message in notice.message
    counts = {kind: [one for one, _ in notices].count(kind) for kind in NOTICES}
    assert {kind: catalog.count(kind) for kind in NOTICES} == counts
    assert catalog.unread == ({"a"} if counts["unread"] else set())


BASE: dict[str, Any] = {"input_schema": {"type": "object", "properties": {}}, "annotations": {"readOnlyHint": True}}


@pytest.mark.parametrize(
    "change",
    [
        {"origin": Origin("elsewhere.json", "/9")},
        {"tool_id": "elsewhere/x~2"},
        {"input_schema": dict(reversed(BASE["input_schema"].items()))},
    ],
)
def test_a_records_hash_ignores_where_it_came_from_and_what_it_is_called_here(change: dict[str, Any]) -> None:
    assert record_hash(make_record(**{**BASE, **change})) == record_hash(make_record(**BASE))


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"provider": "other"},
        {"provider": None},
        {"description": "Other."},
        {"input_schema": {"type": "object", "title": "Other"}},
        {"examples": ("other",)},
        {"categories": ("other",)},
        {"annotations": {"readOnlyHint": False}},
        {"deprecated": True},
    ],
)
def test_a_records_hash_changes_with_what_a_tool_is(change: dict[str, Any]) -> None:
    assert record_hash(make_record(**{**BASE, **change})) != record_hash(make_record(**BASE))
