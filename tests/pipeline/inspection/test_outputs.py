"""What tools answer, from the source through a snapshot and its database to a restored ledger."""

import json
from pathlib import Path

import pytest

from pipeline.inspection import Inspection
from pipeline.inspection.served_tools import served_expansions
from router.record import Parameter
from router.snapshot.snapshot import Snapshot
from tests.pipeline.inspection.conftest import Shop, tool, words

OUTPUTS = (Parameter("charge", "string", "Its id.", ("a", "b"), True),)
_SCHEMA = {
    "type": "object",
    "properties": {"charge": {"type": "string", "description": "Its id.", "enum": ["a", "b"]}},
    "required": ["charge"],
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A catalog of two tools, published once; one declares what it answers."""
    shop = Shop(tmp_path_factory.mktemp("outputs"))
    written = {**words("pay/find"), "requires": ["the payer's id"], "provides": ["a charge's id by day"]}
    shop.build(tool("pay/find", output_schema=_SCHEMA), tool("pay/plain"), expansions=[written])
    return shop


def _folder(shop: Shop) -> Path:
    return next((shop.workspace / "snapshots" / "shop").glob("*/records.jsonl")).parent


def test_the_database_has_the_rows_and_null_where_nothing_is_declared(shop: Shop) -> None:
    with Inspection.open(_folder(shop)) as inspection:
        assert inspection.tool("pay/find").record.outputs == OUTPUTS
        assert inspection.sql("SELECT outputs IS NULL AS undeclared FROM tools ORDER BY tool_id").column(
            "undeclared"
        ) == (False, True)
        assert inspection.table("expansions").column("provides") == (["a charge's id by day"],)
    *_, expansion = served_expansions(_folder(shop), ["pay/find"])["pay/find"]
    assert (expansion.requires, expansion.provides) == (("the payer's id",), ("a charge's id by day",))


def test_a_snapshot_has_the_rows_beside_the_record_so_that_answers_do_not_read_them(shop: Shop) -> None:
    first, second = map(json.loads, (_folder(shop) / "records.jsonl").read_text().splitlines())
    assert first["outputs"] == [OUTPUTS[0].to_json()] and "outputs" not in first["record"]
    assert second.keys() == {"record", "phrases"}
    records = Snapshot.open(_folder(shop)).records
    assert records.complete_record(0).outputs == OUTPUTS and records.entry(0).record.outputs == ()
