"""When a snapshot can say that none fits, and when judged requests may not measure it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.learning.no_answer_calibration.fitting import SnapshotCalibration
from pipeline.memo import Memo
from pipeline.publish import snapshot_learning
from pipeline.publish.snapshot_learning import calibrate_snapshot
from pipeline.settings import load
from quartermaster.cli.commands.benches import build_bench
from router import Router
from router.contract import Manifest
from router.retrieval.no_answer_calibration import ANY_CATALOG, OTHER_LANGUAGE
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot.snapshot import Snapshot
from tests.pipeline.enrichment import honest_tools
from tests.support.notes import Notes
from tests.support.rows import write_rows


def built(folder: Path, workspace: Path, **sections: dict[str, Any]) -> BuildReport:
    overrides = {"vectors": {"encoder": "none"}, "enrichment": {"generator": "none"}, **sections}
    return build(load(folder, overrides, environment={}), workspace=workspace)


def catalog(folder: Path, *rows: tuple[str, str]) -> Path:
    folder.mkdir()
    tools = [{"id": name, "name": name, "description": description, "provider": None} for name, description in rows]
    write_rows(folder / "tools.jsonl", tools)
    return folder


ENGLISH = [(f"{verb}_{thing}", f"To {verb} a {thing}.") for verb in ("send", "read", "find") for thing in "abcdefgh"]


def test_a_catalog_is_calibrated_with_its_evidence_in_the_manifest(tmp_path: Path) -> None:
    rows = [(tool["name"], tool["description"]) for tool in honest_tools.tools()]
    report = built(catalog(tmp_path / "english", *rows), tmp_path / "ws")
    assert report.tuning["fitting"]["calibrations"][0]["source"] == "generic"
    assert report.tuning["fitting"]["calibrated"] is False
    routed = Router.open(report.snapshot).route("send an email to the team")
    assert routed.fits is not None and routed.to_json()["calibrated"] is False


OTHER_LANGUAGES = [
    "给客户退一半的钱",
    "顧客に半分返金してください",
    "верни клиенту деньги",
    "إعادة المال إلى العميل",
    "ग्राहक को पैसे लौटाओ",
]
OTHER_LANGUAGES += [
    "gib dem Kunden die Hälfte zurück",
    "devuelve la mitad del dinero al cliente",
    "rends l'argent à la cliente",
]


@pytest.mark.parametrize("languages", [["en"], ["de"]])
def test_a_catalog_with_further_languages_is_calibrated_for_english_and_gives_others_a_number(
    tmp_path: Path, languages: list[str]
) -> None:
    rows = [(tool["name"], tool["description"]) for tool in honest_tools.tools()]
    settings = {"generator": "none", "languages": languages}
    report = built(catalog(tmp_path / "english", *rows), tmp_path / "ws", enrichment=settings)
    assert "calibrations" in report.tuning["fitting"]
    router = Router.open(report.snapshot)
    assert router.route("zqx vvk wpl").none_fits  # no word of it is in the catalog
    for request in OTHER_LANGUAGES:
        routed = router.route(request)
        assert routed.fits is not None and 0 <= routed.fits <= 1
        assert not routed.calibrated and not (len(routed) and routed.none_fits), request


@pytest.mark.nightly
def test_in_a_catalog_without_written_phrases_a_clear_leader_is_not_refused(tmp_path: Path) -> None:
    """Generic calibrations cannot know a catalog's scale: on 2,750 tools one gave .03 to the tool that led by ten."""
    others = [(tool["name"], tool["description"]) for tool in honest_tools.tools()]
    weather = ("get_weather", "Get the current weather of a city.")
    folder = catalog(tmp_path / "weather", weather, *(row for row in others if "weather" not in " ".join(row)))
    report = built(folder, tmp_path / "ws", enrichment={"generator": "none"})
    snapshot = Snapshot.open(report.snapshot)
    request = "what is the weather in Paris"
    routed = Router(snapshot).route(request)
    assert routed.ids[0] == "get_weather" and not routed.none_fits and routed.calibrated is False
    # However low the calibration puts it.
    strict = tuple(structs.replace(c, intercept=-99.0, threshold=0.9) for c in snapshot.calibrations)
    assert not Router(replace(snapshot, calibrations=strict)).route(request).none_fits
    assert Router(replace(snapshot, calibrations=strict)).route(request).fits == 0.9
    assert Router(replace(snapshot, calibrations=strict)).route("the time and the place of it").none_fits


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        (1, "1 tool is too few to calibrate on"),
        (19, "19 tools are too few to calibrate on: an agent can be given them all"),
    ],
)
def test_small_catalogs_are_not_calibrated(snapshot: Path, tmp_path: Path, tools: int, why: str) -> None:
    manifest = Manifest.read(snapshot)
    manifest = replace(manifest, counts={**manifest.counts, "tools": tools})
    calibrated = calibrate_snapshot(manifest, tmp_path, None, None, 0.05, Memo())
    assert why in calibrated.tuning["fitting"]["skipped"] and calibrated == Manifest.read(tmp_path)


def test_a_catalog_of_which_no_language_is_calibrated_says_why(
    snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest, opened = Manifest.read(snapshot), Snapshot.open(snapshot)
    manifest = replace(manifest, counts={**manifest.counts, "tools": 25})
    monkeypatch.setattr(Snapshot, "open", lambda *given, **options: opened)
    for languages, is_skipped in (((), True), ((OTHER_LANGUAGE,), True), ((OTHER_LANGUAGE, "de"), False)):
        calibrations = tuple(structs.replace(ANY_CATALOG, language=language) for language in languages)
        found = SnapshotCalibration(BackgroundScores({}, None), calibrations)
        monkeypatch.setattr(snapshot_learning, "calibrate", lambda *given, found=found, **options: found)
        fitting = calibrate_snapshot(manifest, tmp_path, None, None, 0.05, Memo()).tuning["fitting"]
        assert ("skipped" in fitting, "calibrations" in fitting) == (is_skipped, not is_skipped)


@pytest.mark.nightly
def test_a_catalog_that_no_everyday_request_reaches_is_not_calibrated_nor_one_that_wants_none(tmp_path: Path) -> None:
    rows = [(f"zq{n:02}x", f"Qqzx{n:02} vvkq{n:02}.") for n in range(25)]
    folder = catalog(tmp_path / "strange", *rows)
    report = built(folder, tmp_path / "ws")
    assert report.tuning["fitting"] == {"skipped": "no list tells requests that a tool fits from everyday ones"}
    assert Router.open(report.snapshot).route("zq01x").fits is None
    assert "fitting" not in built(folder, tmp_path / "ws", tuning={"calibrate": False}).tuning


@pytest.mark.parametrize(
    "taught",
    [
        "judged = true",
        pytest.param('usage = "judgements.jsonl"\nfit_weights = true', marks=pytest.mark.nightly),
    ],
)
def test_requests_that_teach_a_catalog_do_not_measure_it(tmp_path: Path, taught: str) -> None:
    folder = catalog(tmp_path / "taught", *ENGLISH)
    (folder / "catalog.toml").write_text(
        f'[[source]]\npath = "tools.jsonl"\n[vectors]\nencoder = "none"\n[tuning]\ncalibrate = false\n{taught}\n',
        encoding="utf-8",
    )
    judged = [{"id": n, "query": d, "required": [n], "acceptable": [n], "kind": "single"} for n, d in ENGLISH]
    write_rows(folder / "judgements.jsonl", judged)

    notes = Notes()
    report = build(load(folder, environment={}), workspace=tmp_path / "ws", progress=notes)
    assert report.evaluation is None
    assert any("it learned from its judged requests" in note for note in notes.said)
    measured = build_bench(folder, tmp_path / "ws", notes, generator="none", encoder="none")
    assert not {"intents", "weights"} & set(Router.open(measured).manifest.tuning)
