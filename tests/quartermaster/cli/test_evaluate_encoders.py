"""evaluate with two encoders: both built apart from what serves, asked the same requests, and told with their cost."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

from router import Router
from router.contract import Manifest
from tests.support.command_line import Run, called
from tests.support.factories import TOOLS, expansion_row
from tests.support.once import made_once
from tests.support.small_encoder import save


@pytest.fixture(scope="module")
def place(catalog_folder: Path, encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the session's catalog, judged, two encoders, and the figures of their comparison."""

    def make(folder: Path) -> None:
        bench = folder / "office"
        bench.mkdir()
        for file in catalog_folder.iterdir():
            (bench / file.name).write_bytes(file.read_bytes())
        rows = [
            {"id": tool["id"], "query": expansion_row(tool)["user_phrases"][0], "kind": "single",
             "required": [tool["id"]], "acceptable": [tool["id"]]}
            for tool in TOOLS
        ]  # fmt: skip
        rows.append({"id": "none", "query": "sing a song", "kind": "none", "required": [], "acceptable": []})
        (bench / "judgements.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        save(folder / "other", hidden=16, pooling="mean", seed=7)
        done = called(folder, *command(encoder_folder), "--json", "out.json", "--html", "out.html", COLUMNS="80")
        (folder / "printed.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
        assert done.returncode == 0, done.stderr

    return made_once(tmp_path_factory, "two-encoders", make)


def command(encoder: object, other: object = "other") -> tuple[object, ...]:
    return "evaluate", "--bench", "office", "--encoder", encoder, "--against-encoder", other


@pytest.fixture(scope="module")
def result(place: Path) -> Any:
    return json.loads((place / "out.json").read_text(encoding="utf-8"))


@pytest.fixture
def run(place: Path) -> Run:
    return partial(called, place)


def built(place: Path, side: str) -> Path:
    (folder,) = (place / ".quartermaster" / f"evaluations-{side}" / "office").glob("*/manifest.json")
    return folder.parent


def test_both_sides_are_asked_the_same_requests_by_the_same_recipe_and_their_cost_is_measured(
    place: Path, result: Any
) -> None:
    assert not (place / ".quartermaster" / "snapshots").exists()  # nothing that serves is touched
    other = result["against"]
    assert (result["queries"], other["recipe"]) == (9, result["recipe"])
    assert (result["encoder"]["model"], other["encoder"]["model"]) == ("small-random", "other")
    assert (result["encoder"]["dim"], other["encoder"]["dim"]) == (32, 16)
    change = other["difference"]["ndcg@10"]
    of_kind = other["by"]["kind"]["single"]
    assert (
        change["difference"]
        == pytest.approx(result["signals"]["fused"]["ndcg@10"] - other["metrics"]["ndcg@10"])
        == pytest.approx(of_kind["difference"]["ndcg@10"]["difference"])
    )
    assert len(change["interval"]) == 2 and of_kind["queries"] == 8
    for cost in (result["cost"], other["cost"]):
        assert cost["request_ms"] > 0 and cost["documents_s"] > 0 and cost["bytes"] > 0
        assert cost["documents"] == cost["documents_timed"] == len(TOOLS)


def test_the_terminal_and_the_page_show_both_encoders(place: Path) -> None:
    printed, page = (
        (place / "printed.txt").read_text(encoding="utf-8"),
        (place / "out.html").read_text(encoding="utf-8"),
    )
    for part in ("small-random", "other", "encoding a request, p50", "size in the snapshot", "kind: single"):
        assert part in printed and part in page, part
    assert "building office with the encoder other" in printed
    tables = printed.partition("Against")[2]
    assert max(len(line) for line in tables.splitlines() if "errands alike" not in line) <= 80  # a warning of the build


@pytest.mark.nightly
def test_a_second_comparison_embeds_nothing_writes_nothing_and_finds_the_same(
    place: Path, run: Run, result: Any, encoder_folder: Path
) -> None:
    assert Manifest.read(built(place, "that")).encoder.model == "other"  # type: ignore[union-attr]
    again = json.loads(run(*command(encoder_folder), "--json", "-").stdout)
    assert again["against"]["by"] == result["against"]["by"]
    assert [built(place, side).name for side in ("this", "that")] == [
        again["snapshot"], again["against"]["snapshot"]
    ] == [result["snapshot"], result["against"]["snapshot"]]  # fmt: skip
    with duckdb.connect(str(place / ".quartermaster" / "ledger.duckdb"), read_only=True) as ledger:
        runs = ledger.sql("SELECT area, outcome, counts->>'embedded' FROM runs ORDER BY run_id").fetchall()
    assert [(area, outcome) for area, outcome, _ in runs] == [
        ("evaluations", outcome) for outcome in ("published", "published", "unchanged", "unchanged")
    ]
    assert [int(embedded) > 0 for *_, embedded in runs] == [True, True, False, False]


def test_one_encoder_by_two_names_is_refused_before_anything_is_built(run: Run, place: Path, tmp_path: Path) -> None:
    done = run(*command("other", place / "other"), "--workspace", tmp_path / "new")
    assert done.returncode == 2 and "are the same encoder here: other, revision " in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.nightly
def test_vectors_are_compared_with_none(run: Run, tmp_path: Path) -> None:
    done = run(*command("other", "none"), "--workspace", tmp_path, COLUMNS="80", PYTHONHASHSEED="0")
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines() if line.startswith("encoder ")] == [
        ["encoder", "other", "none"]
    ]
    store = tmp_path / "evaluations-that" / "office"
    assert Router.open(store).manifest.encoder is None
