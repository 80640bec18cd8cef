"""What changed between two snapshots: written at publish time, and asked of any two."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.inspection import Inspection
from pipeline.inspection.comparison_sql import PARTS
from pipeline.inspection.served_tools import served_expansions
from router.errors import SnapshotInvalid
from router.record import Parameter
from router.snapshot.store.deltas import databases
from router.snapshot.store.pointer import snapshot_folder
from tests.pipeline.inspection.conftest import Shop, tool, words

_SCHEMA = {"type": "object", "properties": {"day": {"type": "string"}}}
_CHANGED: tuple[tuple[str, str, list[str], list[str], list[str]], ...] = (
    ("pay/gone", "removed", [], [], ["please do pay/gone"]),
    ("pay/new", "added", [], ["hand over the money", "settle up"], []),
    ("pay/said", "changed", ["expansion"], ["pay it back"], ["please do pay/said"]),
    ("pay/shaped", "changed", ["schema", "examples", "categories", "annotations", "deprecated", "outputs"], [], []),
    ("pay/worded", "changed", ["description"], [], []),
)


@pytest.fixture
def two(shop: Shop) -> tuple[Path, Path]:
    """Two snapshots, in which every kind of change happened and one tool stayed as it was."""
    same, worded, said = words("pay/same"), words("pay/worded"), words("pay/said", "pay it back")
    before = [tool(f"pay/{name}") for name in ("gone", "same", "said", "shaped", "worded")]
    first = shop.build(*before, expansions=[same, worded, words("pay/said"), words("pay/gone")])
    more: dict[str, Any] = {
        "examples": ["x"],
        "categories": ["money"],
        "annotations": {"readOnlyHint": True},
        "deprecated": True,
        "output_schema": _SCHEMA,
    }
    after = [
        tool("pay/new"),
        tool("pay/same"),
        tool("pay/said"),
        tool("pay/shaped", parameters=_SCHEMA, **more),
        tool("pay/worded", "Does it at once."),
    ]
    new = words("pay/new", "hand over the money", "settle up")
    return first, shop.build(*after, expansions=[same, worded, said, new])


def test_a_snapshot_says_what_changed_since_the_one_that_served(two: tuple[Path, Path]) -> None:
    with Inspection.open(two[1]) as inspection:
        assert inspection.table("changes").rows == _CHANGED
        assert inspection.table("snapshot").column("previous") == (two[0].name,)


def test_any_two_snapshots_can_be_compared_either_way(two: tuple[Path, Path]) -> None:
    with Inspection.open(two[1]) as inspection:
        assert inspection.changes(two[0]).rows == _CHANGED
        assert inspection.changes(two[1]).rows == ()
        assert (len(inspection.changes(two[0], limit=2)), inspection.changes(two[0], limit=2).more) == (2, 3)
    with Inspection.open(two[0]) as inspection:
        changes = {tool_id: change for tool_id, change, *_ in inspection.changes(two[1]).rows}
    assert changes["pay/gone"] == "added" and changes["pay/new"] == "removed"


def test_an_old_snapshot_whose_database_is_a_delta_is_inspected_and_compared(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "LEAST_SIZE", 0)
    first, second = shop.build(tool("pay/list")), shop.build(tool("pay/list"), tool("pay/refund"))
    assert not (first / "catalog.duckdb").exists()
    with Inspection.open(second) as inspection:
        assert inspection.table("changes").column("tool_id") == ("pay/refund",)
        assert inspection.changes(first).column("tool_id") == ("pay/refund",)
    with Inspection.open(first) as inspection:
        assert inspection.table("tools").column("tool_id") == ("pay/list",)
    third = shop.build(tool("pay/list"))
    assert [path.parent for path in third.parent.glob("*/catalog.duckdb")] == [third]


def test_every_part_of_a_record_is_compared(two: tuple[Path, Path]) -> None:
    with Inspection.open(two[0]) as inspection:
        columns = set(inspection.table("tools").columns)
    derived = {column for column in columns if column.endswith("_document")} | {"tags", "record_hash", "unread"}
    assert columns - derived - {"ordinal", "tool_id", "origin_file", "origin_pointer"} == set(PARTS.values())


def test_a_snapshot_of_a_version_that_knew_no_outputs_is_read_and_compared(two: tuple[Path, Path]) -> None:
    database = two[0] / "catalog.duckdb"
    with duckdb.connect(str(database)) as connection:
        for column in ("outputs", "links", "kind", "instructions"):
            connection.execute(f"ALTER TABLE tools DROP COLUMN {column}")
        for column in ("requires", "provides"):
            connection.execute(f"ALTER TABLE expansions DROP COLUMN {column}")
    assert served_expansions(two[0], ["pay/said"])["pay/said"][-1].requires == ()
    with Inspection.open(two[1]) as inspection:
        assert inspection.changes(two[0]).rows == _CHANGED
        assert inspection.tool("pay/shaped").record.outputs == (Parameter("day", "string"),)
    with Inspection.open(two[0]) as inspection:
        assert inspection.tool("pay/shaped").record.outputs == ()


def test_a_first_snapshot_has_no_changes(shop: Shop) -> None:
    with Inspection.open(shop.build(tool("pay/list"))) as inspection:
        assert inspection.table("changes").rows == ()
        assert inspection.table("snapshot").column("previous") == (None,)


@pytest.mark.parametrize("content", [b"damaged", None], ids=["damaged", "missing"])
def test_a_predecessor_that_cannot_be_opened_stops_no_build(shop: Shop, content: bytes | None) -> None:
    database = shop.build(tool("pay/list")) / "catalog.duckdb"
    database.unlink()
    if content is not None:
        database.write_bytes(content)
    with Inspection.open(shop.build(tool("pay/list"), tool("pay/refund"))) as inspection:
        assert inspection.table("changes").rows == ()
        assert inspection.table("snapshot").column("previous") == (None,)


def test_an_evaluation_is_compared_with_evaluations_alone(shop: Shop) -> None:
    shop.build(tool("pay/list"))
    with Inspection.open(shop.build(tool("pay/refund"), area="evaluations")) as inspection:
        assert inspection.table("changes").rows == ()


def test_a_snapshot_of_another_place_with_a_quote_in_its_path_can_be_compared(shop: Shop, tmp_path: Path) -> None:
    first = shop.build(tool("pay/list"))
    moved = shutil.copytree(first, tmp_path / "it's; DROP TABLE tools; --" / first.name)
    shop.build(tool("pay/refund"))
    with Inspection.open(shop.workspace / "snapshots" / "shop") as inspection:
        assert inspection.folder == snapshot_folder(shop.workspace / "snapshots" / "shop")
        assert inspection.changes(moved).column("change") == ("removed", "added")
    with Inspection.open(moved) as inspection:
        assert inspection.table("tools").column("tool_id") == ("pay/list",)


def test_what_is_no_snapshot_cannot_be_compared_with(shop: Shop, tmp_path: Path) -> None:
    with Inspection.open(shop.build(tool("pay/list"))) as inspection, pytest.raises(SnapshotInvalid, match="nowhere"):
        inspection.changes(tmp_path / "nowhere")
