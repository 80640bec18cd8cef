"""The metrics on judged requests, snapshot after snapshot."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb

from tests.pipeline.inspection.conftest import Shop, tool, words

_TOOLS = (tool("pay/list", "Lists charges."), tool("pay/refund", "Returns money to a customer."))


def judged(snapshot: Path, statement: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(snapshot / "catalog.duckdb"), read_only=True) as connection:
        return connection.execute(statement).fetchall()


def judge(shop: Shop) -> None:
    """Write judged requests beside the catalog."""
    requests = [("list charges", "pay/list"), ("return the money", "pay/refund")]
    rows = [
        {"id": f"r{number}", "query": query, "required": [tool_id], "acceptable": [tool_id], "kind": "single"}
        for number, (query, tool_id) in enumerate(requests)
    ]
    (shop.folder / "judgements.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_snapshot_knows_its_own_metrics_as_its_manifest_does(shop: Shop) -> None:
    judge(shop)
    snapshot = shop.build(*_TOOLS)
    evaluation = json.loads((snapshot / "manifest.json").read_text("utf-8"))["evaluation"]
    assert judged(snapshot, "SELECT DISTINCT snapshot, recipe, requests, held FROM judged_metrics") == [
        (snapshot.name, "default", 2, False)
    ]
    values = judged(snapshot, "SELECT metric, value FROM judged_metrics")
    assert dict(values) == evaluation["metrics"] and values == sorted(values)
    assert judged(snapshot, "SELECT count(*) FROM judged_metrics WHERE NOT low <= value OR NOT value <= high") == [(0,)]


def test_a_trend_outlives_the_snapshots_that_it_tells_of(shop: Shop) -> None:
    judge(shop)
    first = shop.build(*_TOOLS, publish={"keep": 1})
    shop.build(*_TOOLS, expansions=[words("pay/list", "what came in")], publish={"keep": 1})
    last = shop.build(*_TOOLS, expansions=[words("pay/list", "what was paid")], publish={"keep": 1})
    assert not first.exists()
    names = judged(last, "SELECT snapshot FROM judged_metrics GROUP BY snapshot ORDER BY min(built_at), snapshot")
    assert len(names) == 3 and {first.name, last.name} < {name for (name,) in names}


def test_metrics_of_snapshots_that_have_no_such_table_come_from_their_manifests(shop: Shop) -> None:
    judge(shop)
    first = shop.build(*_TOOLS)
    with duckdb.connect(str(first / "catalog.duckdb")) as connection:
        connection.execute("DROP TABLE judged_metrics")
    last = shop.build(*_TOOLS, expansions=[words("pay/list")])
    assert set(judged(last, "SELECT DISTINCT snapshot FROM judged_metrics")) == {(first.name,), (last.name,)}
    assert judged(last, "SELECT previous FROM snapshot") == [(first.name,)]


def test_a_catalog_without_judged_requests_has_no_metrics(shop: Shop) -> None:
    assert judged(shop.build(*_TOOLS), "FROM judged_metrics") == []


def test_a_snapshot_that_a_gate_held_back_says_why(shop: Shop) -> None:
    shop.build(*_TOOLS)
    held = shop.build(*_TOOLS, tool("pay/void"), {"name": 7}, publish={"max_rejected_share": 0.1})
    ((reasons,),) = judged(held, "SELECT held FROM snapshot")
    assert reasons == json.loads((held / "manifest.json").read_text("utf-8"))["held"] != []


def test_the_inspection_database_is_verified_with_the_whole_snapshot(shop: Shop, tmp_path: Path) -> None:
    from router.snapshot.snapshot import Snapshot

    copied = shutil.copytree(shop.build(*_TOOLS), tmp_path / "copied")
    assert Snapshot.open(copied, whole=True).manifest.files["catalog.duckdb"]
