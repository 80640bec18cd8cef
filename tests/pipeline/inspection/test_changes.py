"""What changed between two snapshots: written at publish time, and asked of any two."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.inspection import Inspection
from pipeline.inspection.comparison_sql import PARTS
from pipeline.inspection.served_tools import served_expansions
from pipeline.store.deltas import databases
from router.errors import SnapshotInvalid
from router.record import Parameter
from router.snapshot.store.pointer import snapshot_folder
from tests.pipeline.inspection.conftest import Shop, tool, words
from tests.support.publishing import sign_database

_SCHEMA = {"type": "object", "properties": {"day": {"type": "string"}}}
_CHANGED: tuple[tuple[str, str, list[str], list[str], list[str]], ...] = (
    ("pay/gone", "removed", [], [], ["please do pay/gone"]),
    ("pay/new", "added", [], ["hand over the money", "settle up"], []),
    ("pay/said", "changed", ["expansion"], ["pay it back"], ["please do pay/said"]),
    ("pay/shaped", "changed", ["schema", "examples", "categories", "annotations", "deprecated", "outputs"], [], []),
    ("pay/worded", "changed", ["description"], [], []),
)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two snapshots, in which every kind of change happened and one tool stayed as it was. To be read, or copied."""
    shop = Shop(tmp_path_factory.mktemp("two"))
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


@pytest.fixture
def copied(two: tuple[Path, Path], tmp_path: Path) -> tuple[Shop, Path, Path]:
    """A copy of their shop, with its two snapshots."""
    shop = Shop(tmp_path / "copied")
    shutil.copytree(two[0].parents[2], shop.workspace)
    first, second = (shop.workspace / "snapshots" / "shop" / folder.name for folder in two)
    return shop, first, second


def test_a_snapshot_says_what_changed_since_the_one_that_served(two: tuple[Path, Path], snapshot: Path) -> None:
    with Inspection.open(two[1]) as inspection:
        assert inspection.table("changes").rows == _CHANGED
        assert inspection.table("snapshot").column("previous") == (two[0].name,)
    with Inspection.open(snapshot) as first:
        assert (first.table("changes").rows, first.table("snapshot").column("previous")) == ((), (None,))


def test_any_two_snapshots_can_be_compared_either_way_wherever_they_lie(two: tuple[Path, Path], tmp_path: Path) -> None:
    moved = shutil.copytree(two[0], tmp_path / "it's; DROP TABLE tools; --" / two[0].name)
    with Inspection.open(two[1].parent) as inspection:  # the catalog's folder stands for what serves
        assert inspection.folder == snapshot_folder(two[1].parent)
        for other in (two[0], moved):
            assert inspection.changes(other).rows == _CHANGED
        assert inspection.changes(two[1]).rows == ()
        assert (len(inspection.changes(two[0], limit=2)), inspection.changes(two[0], limit=2).more) == (2, 3)
        with pytest.raises(SnapshotInvalid, match="nowhere"):
            inspection.changes(tmp_path / "nowhere")
    with Inspection.open(moved) as inspection:
        changes = {tool_id: change for tool_id, change, *_ in inspection.changes(two[1]).rows}
    assert changes["pay/gone"] == "added" and changes["pay/new"] == "removed"


@pytest.mark.nightly
def test_an_old_snapshot_whose_database_is_a_delta_is_inspected_and_compared(
    copied: tuple[Shop, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, first, second = copied
    monkeypatch.setattr(databases, "LEAST_SIZE", 0)
    third = shop.build(tool("pay/same"), publish={"max_removed_share": 1.0})
    assert [path.parent for path in third.parent.glob("*/catalog.duckdb")] == [third]
    with Inspection.open(third) as inspection:
        assert {change for _, change, *_ in inspection.table("changes").rows} == {"removed", "changed"}
        assert "pay/gone" in inspection.changes(first).column("tool_id")
    with Inspection.open(second) as inspection:
        assert inspection.changes(first).rows == _CHANGED


def test_every_part_of_a_record_is_compared(two: tuple[Path, Path]) -> None:
    with Inspection.open(two[0]) as inspection:
        columns = set(inspection.table("tools").columns)
    derived = {column for column in columns if column.endswith("_document")} | {"tags", "record_hash", "unread"}
    assert columns - derived - {"ordinal", "tool_id", "origin_file", "origin_pointer"} == set(PARTS.values())


def test_a_snapshot_of_a_version_that_knew_no_outputs_is_read_and_compared(copied: tuple[Shop, Path, Path]) -> None:
    _, first, second = copied
    with duckdb.connect(str(first / "catalog.duckdb")) as connection:
        for column in ("outputs", "links", "kind", "instructions"):
            connection.execute(f"ALTER TABLE tools DROP COLUMN {column}")
        for column in ("requires", "provides"):
            connection.execute(f"ALTER TABLE expansions DROP COLUMN {column}")
    sign_database(first)
    assert served_expansions(first, ["pay/said"])["pay/said"][-1].requires == ()
    with Inspection.open(second) as inspection:
        assert inspection.changes(first).rows == _CHANGED
        assert inspection.tool("pay/shaped").record.outputs == (Parameter("day", "string"),)
    with Inspection.open(first) as inspection:
        assert inspection.tool("pay/shaped").record.outputs == ()


@pytest.mark.parametrize(
    "content", [b"damaged", pytest.param(None, marks=pytest.mark.nightly)], ids=["damaged", "missing"]
)
def test_a_predecessor_that_cannot_be_opened_stops_no_build(
    copied: tuple[Shop, Path, Path], content: bytes | None
) -> None:
    shop, _, second = copied
    (second / "catalog.duckdb").unlink()
    if content is not None:
        (second / "catalog.duckdb").write_bytes(content)
    with Inspection.open(shop.build(tool("pay/list"))) as inspection:
        assert inspection.table("changes").rows == ()
        assert inspection.table("snapshot").column("previous") == (None,)
