"""What of each source was read, in `catalog.duckdb`."""

from pipeline.inspection import Inspection
from tests.pipeline.inspection.conftest import Shop, tool


def test_each_source_has_a_row_and_each_key_that_was_not_read(shop: Shop) -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string"}}}
    rows = [
        tool("a/x", parameters=schema),
        tool("a/y", args="--day DAY"),
        tool("a/z", "", usage="at night"),
        {"name": 7},
    ]
    with Inspection.open(shop.build(*rows, publish={"max_rejected_share": 1})) as inspection:
        counts = "source, records, tools, described, with_parameters, lost_parameters, rejected"
        assert inspection.sql(f"SELECT {counts} FROM coverage").rows == (("tools.jsonl", 4, 3, 2, 1, 1, 1),)
        found = inspection.sql("SELECT reasons, shapes FROM coverage").rows
        assert found == (({"name is a number, not a text": 1}, {"parameters: JSON Schema": 1}),)
        assert inspection.sql("FROM unread_keys").rows == (
            ("tools.jsonl", "args", 1, "--day DAY"),
            ("tools.jsonl", "usage", 1, "at night"),
        )
        assert inspection.table("unread_sources").column("problem") == (
            "1 of 3 tools declare parameters under `args` that could not be read",
            "1 of 4 records were rejected: 1 because name is a number, not a text",
            "keys that were not read: usage (1: at night)",
        )


def test_where_all_was_read_there_is_no_problem(shop: Shop) -> None:
    with Inspection.open(shop.build(tool("a/x"))) as inspection:
        assert len(inspection.table("unread_sources")) == len(inspection.table("unread_keys")) == 0
        assert inspection.sql("SELECT problems FROM coverage").rows == (([],),)
