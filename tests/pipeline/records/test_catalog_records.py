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


def test_records_are_sorted_by_id_whatever_their_order() -> None:
    assert _ids(_catalog(("c", {}), ("a", {}), ("b", {"provider": "a"}), ("B", {}))) == ["B", "a", "a/b", "c"]


def test_nothing_makes_an_empty_catalog() -> None:
    assert catalog_records([]) == Catalog((), {}, ())


def test_other_tools_of_one_id_are_numbered_in_source_order() -> None:
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


def test_names_that_only_an_id_makes_equal_are_numbered() -> None:
    assert _ids(_catalog(("send mail", {}), ("send-mail", {}), ("send/mail", {}))) == [
        "send-mail",
        "send-mail~2",
        "send-mail~3",
    ]


def test_a_number_that_a_source_took_itself_is_skipped() -> None:
    catalog = _catalog(("a", {"id": "x~2"}), ("b", {"id": "x"}), ("c", {"id": "x"}))
    assert {r.tool_id: r.name for r in catalog.records} == {"x~2": "a", "x": "b", "x~3": "c"}


def test_an_exact_duplicate_is_merged_into_the_first() -> None:
    catalog = _catalog(("send", {"provider": "mail"}), ("list", {}), ("send", {"provider": "mail"}))
    assert _ids(catalog) == ["list", "mail/send"]
    assert catalog.records[1].origin.pointer == "/0"
    message = "mail/send is an exact duplicate"
    assert catalog.notices == (Notice("mail/send", "merged", message, Origin("tools.json", "/2")),)


def test_a_duplicate_of_a_renamed_tool_is_merged_into_that() -> None:
    catalog = _catalog(("a", {}), ("a", {"description": "Other."}), ("a", {"description": "Other."}))
    assert _ids(catalog) == ["a", "a~2"]
    assert [(n.kind, n.tool_id) for n in catalog.notices] == [("renamed", "a~2"), ("merged", "a~2")]


def test_a_duplicate_under_another_id_of_its_own_is_merged() -> None:
    assert _ids(_catalog(("a", {"id": "1"}), ("a", {"id": "2"}))) == ["1"]


def test_the_same_tool_of_two_providers_is_two_tools() -> None:
    catalog = _catalog(("send", {"provider": "gmail"}), ("send", {"provider": "outlook"}))
    assert _ids(catalog) == ["gmail/send", "outlook/send"]
    assert catalog.notices == ()


@pytest.mark.parametrize("description", ["", " \n"])
def test_a_tool_without_description_is_kept_and_noticed_as_thin(description: str) -> None:
    catalog = _catalog(("a", {"description": description}))
    assert _ids(catalog) == ["a"]
    assert catalog.notices == (Notice("a", "thin", "it has no description", Origin("tools.json", "/0")),)


def test_each_open_reference_is_noticed_once() -> None:
    catalog = _catalog(("a", {"notices": ("x is left open", "y is left open", "x is left open")}))
    assert [(n.kind, n.message) for n in catalog.notices] == [("open", "x is left open"), ("open", "y is left open")]


def test_notices_are_counted_by_kind() -> None:
    catalog = _catalog(("a", {}), ("a", {}), ("a", {"description": ""}), ("b", {"description": ""}))
    assert {kind: catalog.count(kind) for kind in NOTICES} == {
        "merged": 1,
        "renamed": 1,
        "thin": 2,
        "unread": 0,
        "open": 0,
    }


def test_the_catalogs_hashes_are_those_of_its_records() -> None:
    catalog = _catalog(("a", {}), ("a", {"description": "Other."}), ("b", {}))
    assert catalog.hashes == {record.tool_id: record_hash(record) for record in catalog.records}
    assert len(set(catalog.hashes.values())) == 3


BASE: dict[str, Any] = {"input_schema": {"type": "object"}, "annotations": {"readOnlyHint": True}}


@pytest.mark.parametrize("change", [{"origin": Origin("elsewhere.json", "/9")}, {"tool_id": "elsewhere/x~2"}])
def test_a_records_hash_ignores_where_it_came_from_and_what_it_is_called_here(change: dict[str, Any]) -> None:
    assert record_hash(make_record(**BASE, **change)) == record_hash(make_record(**BASE))


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


def test_a_records_hash_ignores_the_order_of_keys() -> None:
    first = make_record(input_schema={"type": "object", "properties": {}})
    second = make_record(input_schema={"properties": {}, "type": "object"})
    assert record_hash(first) == record_hash(second)


def test_a_description_in_another_language_is_told() -> None:
    catalog = _catalog(("a", {"description": "지하철 도착 정보 조회"}), ("b", {"description": "Books a table."}))
    assert [(notice.tool_id, notice.kind) for notice in catalog.notices] == [("a", "unread")]
    assert "not English (Hangul letters)" in catalog.notices[0].message
    assert catalog.unread == {"a"}
