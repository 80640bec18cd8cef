"""When a snapshot can say that none fits, and when judged requests may not measure it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.cli.commands.benches import build_bench
from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.progress import SilentProgress
from pipeline.settings import load
from router import Router
from router.snapshot.snapshot import Snapshot
from tests.pipeline.enrichment import honest_tools
from tests.support.places import DATA

LANGUAGES = DATA / "languages"


def built(folder: Path, workspace: Path, **sections: dict[str, Any]) -> BuildReport:
    overrides = {"vectors": {"encoder": "none"}, "enrichment": {"generator": "none"}, **sections}
    return build(load(folder, overrides, environment={}), workspace=workspace)


def catalog(folder: Path, *rows: tuple[str, str]) -> Path:
    folder.mkdir()
    tools = [{"id": name, "name": name, "description": description, "provider": None} for name, description in rows]
    (folder / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in tools), encoding="utf-8")
    return folder


ENGLISH = [(f"{verb}_{thing}", f"To {verb} a {thing}.") for verb in ("send", "read", "find") for thing in "abcdefgh"]


def test_a_catalog_is_calibrated_with_its_evidence_in_the_manifest(tmp_path: Path) -> None:
    rows = [(tool["name"], tool["description"]) for tool in honest_tools.tools()]
    report = built(catalog(tmp_path / "english", *rows), tmp_path / "ws")
    assert report.tuning["fitting"]["calibrations"][0]["source"] == "generic"
    assert report.tuning["fitting"]["calibrated"] is False
    routed = Router.open(report.snapshot).route("send an email to the team")
    assert routed.fits is not None and routed.to_json()["calibrated"] is False


def test_in_a_catalog_without_written_phrases_a_clear_leader_is_not_refused(tmp_path: Path) -> None:
    """Generic calibrations cannot know a catalog's scale: on 2,750 tools one gave .03 to the tool that led by ten."""
    others = [(tool["name"], tool["description"]) for tool in honest_tools.tools()]
    weather = ("get_weather", "Get the current weather of a city.")
    folder = catalog(tmp_path / "weather", weather, *(row for row in others if "weather" not in " ".join(row)))
    report = built(folder, tmp_path / "ws", enrichment={"generator": "lexicon"})
    snapshot = Snapshot.open(report.snapshot)
    request = "what is the weather in Paris"
    routed = Router(snapshot).route(request)
    assert routed.ids[0] == "get_weather" and not routed.none_fits and routed.calibrated is False
    # However low the calibration puts it.
    strict = tuple(replace(c, intercept=-99.0, threshold=0.9) for c in snapshot.calibrations)
    assert not Router(replace(snapshot, calibrations=strict)).route(request).none_fits
    assert Router(replace(snapshot, calibrations=strict)).route(request).fits == 0.9
    assert Router(replace(snapshot, calibrations=strict)).route("the time and the place of it").none_fits


def test_fewer_than_twenty_tools_are_not_calibrated(tmp_path: Path) -> None:
    report = built(catalog(tmp_path / "few", *ENGLISH[:19]), tmp_path / "ws")
    assert report.tuning["fitting"] == {
        "skipped": "19 tools are too few to calibrate on: an agent can be given them all"
    }


def test_a_single_tool_is_told_in_the_singular(tmp_path: Path) -> None:
    report = built(catalog(tmp_path / "one", *ENGLISH[:1]), tmp_path / "ws")
    assert report.tuning["fitting"]["skipped"].startswith("1 tool is too few to calibrate on")


def test_a_catalog_that_no_everyday_request_reaches_is_not_calibrated(tmp_path: Path) -> None:
    rows = [(f"zq{n:02}x", f"Qqzx{n:02} vvkq{n:02}.") for n in range(25)]
    report = built(catalog(tmp_path / "strange", *rows), tmp_path / "ws")
    assert report.tuning["fitting"] == {"skipped": "no list tells requests that a tool fits from everyday ones"}
    assert Router.open(report.snapshot).route("zq01x").fits is None


def test_a_catalog_with_phrases_in_other_languages_is_not_calibrated(tmp_path: Path) -> None:
    report = built(LANGUAGES, tmp_path / "ws", enrichment={"languages": ("de",), "generator": "none"})
    assert "other languages" in report.tuning["fitting"]["skipped"]


def test_the_setting_switches_calibration_and_adapter_off(tmp_path: Path) -> None:
    report = built(catalog(tmp_path / "english", *ENGLISH), tmp_path / "ws", tuning={"calibrate": False})
    assert "fitting" not in report.tuning


@pytest.mark.parametrize("taught", ["judged = true", 'usage = "judgements.jsonl"\nfit_weights = true'])
def test_requests_that_teach_a_catalog_do_not_measure_it(tmp_path: Path, taught: str) -> None:
    folder = catalog(tmp_path / "taught", *ENGLISH)
    (folder / "catalog.toml").write_text(
        f'[[source]]\npath = "tools.jsonl"\n[vectors]\nencoder = "none"\n[tuning]\ncalibrate = false\n{taught}\n',
        encoding="utf-8",
    )
    judged = [{"id": n, "query": d, "required": [n], "acceptable": [n], "kind": "single"} for n, d in ENGLISH]
    (folder / "judgements.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged), encoding="utf-8")

    class Notes(SilentProgress):
        notes: tuple[str, ...] = ()

        def note(self, message: str) -> None:
            self.notes += (message,)

    notes = Notes()
    report = build(load(folder, environment={}), workspace=tmp_path / "ws", progress=notes)
    assert report.evaluation is None
    assert any("it learned from its judged requests" in note for note in notes.notes)
    measured = build_bench(folder, tmp_path / "ws", notes, generator="none", encoder="none")
    assert not {"intents", "weights"} & set(Router.open(measured).manifest.tuning)
