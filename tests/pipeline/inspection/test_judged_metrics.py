"""The metrics on judged requests, snapshot after snapshot."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from pipeline.inspection.writing import _judged_metrics
from router.contract import Manifest
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


def test_a_snapshot_knows_its_metrics_as_its_manifest_does_and_a_trend_outlives_the_snapshots(shop: Shop) -> None:
    judge(shop)
    first = shop.build(*_TOOLS)
    evaluation = json.loads((first / "manifest.json").read_text("utf-8"))["evaluation"]
    own = "SELECT DISTINCT snapshot, recipe, requests, held FROM judged_metrics"
    assert judged(first, own) == [(first.name, "default", 2, False)]
    values = judged(first, "SELECT metric, value FROM judged_metrics")
    assert dict(values) == evaluation["metrics"] and values == sorted(values)
    assert judged(first, "SELECT count(*) FROM judged_metrics WHERE NOT low <= value OR NOT value <= high") == [(0,)]
    with duckdb.connect(str(first / "catalog.duckdb")) as connection:  # as where it served after one that is gone
        earlier = "SELECT * REPLACE ('gone' AS snapshot, 0 AS sequence) FROM judged_metrics"
        connection.execute(f"INSERT INTO judged_metrics BY NAME {earlier}")
    last = shop.build(*_TOOLS, expansions=[words("pay/list", "what came in")])
    names = judged(last, "SELECT snapshot FROM judged_metrics GROUP BY snapshot, sequence ORDER BY sequence")
    assert names == [("gone",), (first.name,), (last.name,)]


def test_manifests_give_the_metrics_oldest_first_and_nothing_where_nothing_was_judged(snapshot: Path) -> None:
    assert judged(snapshot, "FROM judged_metrics") == []
    manifest = Manifest.read(snapshot)
    evaluation = {"metrics": {"b": 0.5, "a": 1.0}, "intervals": {"b": [0.25, 0.75]}, "recipe": "default", "requests": 4}
    later, earlier = (
        replace(manifest, snapshot=name, sequence=sequence, held=held, evaluation=evaluation)
        for name, sequence, held in (("later", 2, ("a gate",)), ("earlier", 1, ()))
    )
    columns = ("snapshot", "held", "requests", "metric", "value", "low", "high")
    found = _judged_metrics([later, manifest, earlier])
    assert [tuple(row[column] for column in columns) for row in found] == [
        ("earlier", False, 4, "a", 1.0, None, None),
        ("earlier", False, 4, "b", 0.5, 0.25, 0.75),
        ("later", True, 4, "a", 1.0, None, None),
        ("later", True, 4, "b", 0.5, 0.25, 0.75),
    ]
