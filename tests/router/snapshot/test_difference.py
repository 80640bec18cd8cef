"""Two catalogs are compared tool by tool."""

from dataclasses import replace

from router.record import Origin
from router.snapshot.difference import CatalogDifference, ToolChange, difference
from router.snapshot.record_store import RecordStore, ToolEntry
from tests.support.factories import make_record

LIST, REFUND = make_record("list"), make_record("refund")


def store(*entries: ToolEntry) -> RecordStore:
    return RecordStore.of(sorted(entries, key=lambda entry: entry.record.tool_id))


def test_tools_of_one_catalog_alone_are_added_or_removed() -> None:
    before, after = store(ToolEntry(LIST, ("show",))), store(ToolEntry(REFUND, ("undo",)))
    assert difference(before, after) == CatalogDifference(("stripe/refund",), ("stripe/list",), ())
    assert not difference(before, before)


def test_a_changed_tool_names_its_parts_and_its_phrases() -> None:
    changed = replace(LIST, description="Lists.", input_schema={"type": "object"})
    found = difference(store(ToolEntry(LIST, ("a", "b"))), store(ToolEntry(changed, ("b", "c"))))
    assert found.changed == (ToolChange("stripe/list", ("description", "schema"), ("c",), ("a",)),)


def test_where_a_tool_was_read_from_is_no_change() -> None:
    moved = replace(LIST, origin=Origin("elsewhere.json", "/7"))
    assert not difference(store(ToolEntry(LIST, ())), store(ToolEntry(moved, ())))
