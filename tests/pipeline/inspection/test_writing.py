"""What a snapshot's database holds: what tools answer, phrases in other languages, metrics on judged requests."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.inspection import Inspection
from pipeline.inspection.served_tools import served_expansions
from pipeline.inspection.writing import _judged_metrics
from router import Router
from router.contract import Manifest
from router.record import Parameter
from router.snapshot.snapshot import Snapshot
from tests.pipeline.inspection.conftest import Shop, tool, words
from tests.support.rows import select, write_rows

_TOOLS = (tool("pay/list", "Lists charges."), tool("pay/refund", "Returns money."))
_EXPANSIONS = [
    {**words("pay/list", "show the bills"), "translations": {"de": ["offene Rechnungen", "Zahlungen zeigen"]}},
    {**words("pay/refund", "money back"), "translations": {"de": ["Geld zurückgeben"], "es": ["devolver el dinero"]}},
]
_GERMAN = {"languages": ["de"]}


def test_what_a_tool_answers_stands_beside_its_record_and_in_the_database(shop: Shop) -> None:
    charge = {"type": "string", "description": "Its id.", "enum": ["a", "b"]}
    schema = {"type": "object", "properties": {"charge": charge}, "required": ["charge"]}
    outputs = (Parameter("charge", "string", "Its id.", ("a", "b"), True),)
    written = {**words("pay/find"), "requires": ["the payer's id"], "provides": ["a charge's id by day"]}
    folder = shop.build(tool("pay/find", output_schema=schema), tool("pay/plain"), expansions=[written])
    with Inspection.open(folder) as inspection:
        assert inspection.tool("pay/find").record.outputs == outputs
    assert select(folder, "SELECT outputs IS NULL FROM tools ORDER BY tool_id") == [(False,), (True,)]
    assert select(folder, "SELECT provides FROM expansions") == [(["a charge's id by day"],)]
    *_, expansion = served_expansions(folder, ["pay/find"])["pay/find"]
    assert (expansion.requires, expansion.provides) == (("the payer's id",), ("a charge's id by day",))
    # Beside the record, so that answers do not read it.
    first, second = map(json.loads, (folder / "records.jsonl").read_text().splitlines())
    assert first["outputs"] == [outputs[0].to_json()] and "outputs" not in first["record"]
    assert second.keys() == {"record", "phrases"}
    records = Snapshot.open(folder).records
    assert records.complete_record(0).outputs == outputs and records.entry(0).record.outputs == ()


def test_phrases_keep_their_language_and_another_language_or_translation_is_another_snapshot(shop: Shop) -> None:
    snapshot = shop.build(*_TOOLS, expansions=_EXPANSIONS, enrichment=_GERMAN)
    assert select(snapshot, "FROM phrases") == [
        ("pay/list", 0, "show the bills", "en", "file"),
        ("pay/list", 1, "offene Rechnungen", "de", "file"),
        ("pay/list", 2, "Zahlungen zeigen", "de", "file"),
        ("pay/refund", 0, "money back", "en", "file"),
        ("pay/refund", 1, "Geld zurückgeben", "de", "file"),
    ]
    # All that was written is kept, the languages not asked for too.
    ((translations,),) = select(snapshot, "SELECT translations FROM expansions WHERE tool_id = 'pay/refund'")
    assert translations == {"de": ["Geld zurückgeben"], "es": ["devolver el dinero"]}
    router = Router.open(snapshot)
    assert router.manifest.languages == ("en", "de")
    assert router.route("Wo ist die Rechnung?").ids == ("pay/list",)
    assert len(router.route("dinero")) == 0  # Spanish was not asked for
    # A language more is another snapshot, though nobody wrote in it.
    assert shop.build(*_TOOLS, expansions=_EXPANSIONS, enrichment={"languages": ["de", "fr"]}) != snapshot
    changed = [{**_EXPANSIONS[0], "translations": {"de": ["Belege"]}}, _EXPANSIONS[1]]
    spanish = shop.build(*_TOOLS, expansions=changed, enrichment={"languages": ["de", "es"]})
    assert Router.open(spanish).route("dinero").ids == ("pay/refund",)
    assert select(spanish, "FROM changes") == [
        ("pay/list", "changed", ["expansion"], ["Belege"], ["offene Rechnungen", "Zahlungen zeigen"]),
        ("pay/refund", "changed", ["expansion"], ["devolver el dinero"], []),
    ]


def test_what_is_indexed_as_english_and_is_not_has_no_language(shop: Shop) -> None:
    # Few words show their language alone, all phrases of a tool together do.
    german = ["Geld einem Kunden zurückgeben", "die Zahlung an den Kunden stornieren", "Betrag erstatten"]
    written = [
        words("pay/list", "show the bills", "crea una factura para el cliente"),
        words("pay/refund", *german),
    ]
    snapshot = shop.build(*_TOOLS, expansions=written)
    assert select(snapshot, "SELECT phrase, language FROM phrases ORDER BY ALL") == sorted(
        [("show the bills", "en"), ("crea una factura para el cliente", "und"), *((one, "und") for one in german)]
    )
    assert select(snapshot, "SELECT DISTINCT field FROM phrase_sources") == [("user_phrases",)]


@pytest.mark.nightly  # with an encoder
def test_the_nearest_phrase_is_one_with_a_vector(shop: Shop, encoder_folder: Path) -> None:
    vectors = {"encoder": str(encoder_folder)}
    snapshot = shop.build(*_TOOLS, expansions=_EXPANSIONS, enrichment=_GERMAN, vectors=vectors)
    (first, second) = Router.open(snapshot).route("offene Rechnungen", explain=True)
    assert {first.phrase, second.phrase} == {"show the bills", "money back"}
    said = "SELECT tool_id, position FROM vectors WHERE position IS NOT NULL"
    assert select(snapshot, said) == [("pay/list", 0), ("pay/refund", 0)]
    neighbours = select(snapshot, "SELECT phrase, other_phrase FROM phrase_neighbours('pay/list')")
    assert neighbours == [("show the bills", "money back")]


def test_a_snapshot_knows_its_metrics_as_its_manifest_does_and_a_trend_outlives_the_snapshots(shop: Shop) -> None:
    requests = [("list charges", "pay/list"), ("return the money", "pay/refund")]
    judged = [
        {"id": f"r{number}", "query": query, "required": [tool_id], "acceptable": [tool_id], "kind": "single"}
        for number, (query, tool_id) in enumerate(requests)
    ]
    write_rows(shop.folder / "judgements.jsonl", judged)
    first = shop.build(*_TOOLS)
    evaluation = json.loads((first / "manifest.json").read_text("utf-8"))["evaluation"]
    own = "SELECT DISTINCT snapshot, recipe, requests, held FROM judged_metrics"
    assert select(first, own) == [(first.name, "default", 2, False)]
    values = select(first, "SELECT metric, value FROM judged_metrics")
    assert dict(values) == evaluation["metrics"] and values == sorted(values)
    assert select(first, "SELECT count(*) FROM judged_metrics WHERE NOT low <= value OR NOT value <= high") == [(0,)]
    # As where it served after one that is gone.
    earlier = "SELECT * REPLACE ('gone' AS snapshot, 0 AS sequence) FROM judged_metrics"
    select(first, f"INSERT INTO judged_metrics BY NAME {earlier}", read_only=False)
    last = shop.build(*_TOOLS, expansions=[words("pay/list", "what came in")])
    names = select(last, "SELECT snapshot FROM judged_metrics GROUP BY snapshot, sequence ORDER BY sequence")
    assert names == [("gone",), (first.name,), (last.name,)]


def test_manifests_give_the_metrics_oldest_first_and_nothing_where_nothing_was_judged(snapshot: Path) -> None:
    assert select(snapshot, "FROM judged_metrics") == []
    manifest = Manifest.read(snapshot)
    evaluation: dict[str, Any] = {"metrics": {"b": 0.5, "a": 1.0}, "intervals": {"b": [0.25, 0.75]}, "requests": 4}
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
