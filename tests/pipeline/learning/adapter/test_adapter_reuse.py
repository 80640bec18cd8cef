"""The adapter of the snapshot that serves is taken over while few of its phrases have changed."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.learning import TUNING_VERSION, LearnedAdapter
from pipeline.learning.adapter.learned import LEARNED_FROM, changed_share, phrase_keys, reuse_adapter
from pipeline.records import Catalog, record_hash
from pipeline.settings import load
from router import Router
from router.contract import ADAPTER, EncoderManifest, Manifest
from router.fingerprint import file_sha256
from router.tools.field_text import project_record
from tests.support.factories import make_expansion, make_record
from tests.support.small_encoder import vector_settings

KEYS = np.arange(1_000, dtype=np.uint64)
MAP = np.eye(4, dtype=np.float32)
ENCODER = EncoderManifest("small", "r1", "mean", "", 4, 64, "fp32")


def keys(*phrases: str, description: str = "Returns charges.") -> Any:
    record = make_record("list", "stripe", tool_id="stripe/list", description=description)
    catalog = Catalog((record,), {record.tool_id: record_hash(record)}, ())
    return phrase_keys(catalog, [project_record(record, make_expansion(*phrases))])


def test_a_phrase_is_known_by_its_text_and_its_tools_record() -> None:
    one = keys("show me", "list all")
    assert len(one) == 3 and (np.diff(one.astype(object)) > 0).all()  # with the sentence of when to use it
    assert keys("list all", "show me").tolist() == one.tolist()
    assert len(np.intersect1d(one, keys("show me", "another"))) == 2
    assert not len(np.intersect1d(one, keys("show me", "list all", description="Deletes charges.")))


@pytest.mark.parametrize(
    ("before", "now", "share"),
    [(range(100), range(100), 0), (range(100), range(1, 101), 0.01), (range(95), range(100), 0.05), ((), (), 0)],
)
def test_the_share_counts_what_went_or_what_came(before: Any, now: Any, share: float) -> None:
    arrays = (np.array(list(side), np.uint64) for side in (before, now))
    assert changed_share(*arrays) == pytest.approx(share)


@pytest.fixture
def serving(snapshot: Path, tmp_path: Path) -> Path:
    """A snapshot whose adapter was learned from KEYS."""
    folder = shutil.copytree(snapshot, tmp_path / "20260101T000000Z-abcdef01")
    np.save(folder / ADAPTER, MAP)
    np.save(folder / LEARNED_FROM, KEYS)
    files = {name: file_sha256(folder / name) for name in (ADAPTER, LEARNED_FROM)}
    manifest = Manifest.read(folder)
    replace(
        manifest,
        snapshot=folder.name,
        encoder=ENCODER,
        files={**manifest.files, **files},
        tuning={"adapter": {"steps": 70}},
    ).write(folder)
    return folder


def reused(serving: Path | None, first: int = 0, most: float = 0.05, **other: Any) -> LearnedAdapter | None:
    """What is taken over where the keys before `first` are gone, for this encoder and tuning but for `other`."""
    encoder = replace(ENCODER, **{name: value for name, value in other.items() if name != "version"})
    return reuse_adapter(serving, KEYS[first:], encoder, other.get("version", TUNING_VERSION), most)


def test_an_adapter_is_taken_over_with_where_it_is_first_from_and_how_much_has_changed(serving: Path) -> None:
    taken = reused(serving, 10)
    assert taken is not None and taken.adapter is not None
    assert np.array_equal(taken.adapter, MAP) and np.array_equal(taken.keys, KEYS)  # type: ignore[arg-type]
    assert taken.evidence == {"steps": 70, "taken_over": {"from": serving.name, "changed": 0.01}}
    replace(Manifest.read(serving), snapshot="later", tuning={"adapter": taken.evidence}).write(serving)
    second = reused(serving, 30)
    assert second is not None and second.evidence["taken_over"] == {"from": serving.name, "changed": 0.03}


@pytest.mark.parametrize(
    ("other", "is_taken"),
    [
        ({"first": 50}, True),
        ({"first": 51}, False),  # more than a twentieth has changed
        ({"most": 0.0}, False),
        ({"revision": "r2"}, False),
        ({"version": TUNING_VERSION + 1}, False),
        ({"precision": "int8"}, True),
    ],
)
def test_few_changes_under_the_same_encoder_and_tuning_take_it_over(
    serving: Path, other: dict[str, Any], is_taken: bool
) -> None:
    assert (reused(serving, **other) is not None) is is_taken


@pytest.mark.parametrize("name", [ADAPTER, LEARNED_FROM])
def test_where_a_file_is_damaged_or_gone_it_is_learned_anew(serving: Path, name: str) -> None:
    for spoil in (lambda file: file.write_bytes(b"damaged"), Path.unlink):
        spoil(serving / name)
        assert reused(serving) is None


def test_that_no_adapter_was_worth_it_is_taken_over_too_and_nothing_where_nothing_serves(
    serving: Path, tmp_path: Path
) -> None:
    manifest = Manifest.read(serving)
    replace(manifest, files={name: of for name, of in manifest.files.items() if name != ADAPTER}).write(serving)
    taken = reused(serving)
    assert taken is not None and taken.adapter is None
    assert reused(None) is None and reused(tmp_path) is None


@pytest.fixture
def night(encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Builds of twenty tools with six phrases each, that teach an adapter; a night changes the phrases of some."""
    monkeypatch.setattr("pipeline.learning.adapter.training._SIGNIFICANCE", 1.1)
    folder = tmp_path / "shop"
    folder.mkdir()

    def _night(changed: int, **tuning: Any) -> BuildReport:
        with (folder / "tools.jsonl").open("w") as tools, (folder / "expansions.jsonl").open("w") as expansions:
            for n in range(20):
                said = [f"{'tonight ' if n < changed else ''}thing {n} please {p * 'x'}" for p in range(6)]
                tools.write(json.dumps({"id": f"t{n}", "name": f"do_{n}", "description": f"Does {n}."}) + "\n")
                expansions.write(json.dumps({"id": f"t{n}", "when_to_use": "", "user_phrases": said}) + "\n")
        overrides = {
            "vectors": vector_settings(encoder_folder),
            "tuning": {"calibrate": False, **tuning},
            "assessment": {"enabled": False},
            "ledger": {"backups": 0},
        }
        return build(load(folder, overrides, environment={}), workspace=tmp_path / "ws")

    return _night


def test_a_night_goes_on_with_the_adapter(night: Any) -> None:
    first, second = night(0), night(1, max_stale_share=0.1)
    assert "taken_over" not in first.tuning["adapter"]
    assert second.outcome == "published" and "tune" not in second.seconds
    told = second.tuning["adapter"]["taken_over"]
    assert told["from"] == first.snapshot.name and 0 < told["changed"] < 0.1
    adapters = [Router.open(report.snapshot).manifest.files.get(ADAPTER) for report in (first, second)]
    assert adapters[0] == adapters[1]


@pytest.mark.nightly
def test_the_calibration_goes_on_with_the_adapter_and_back_to_the_first_content(night: Any) -> None:
    asked: Any = {"calibrate": True, "max_stale_share": 0.1}
    first, second, same, back = night(0, **asked), night(1, **asked), night(1, **asked), night(0, **asked)
    assert first.tuning["fitting"]["calibrations"] and "taken_over" not in first.tuning["fitting"]
    assert second.tuning["fitting"]["taken_over"]["from"] == first.snapshot.name
    assert second.tuning["fitting"]["calibrations"] == first.tuning["fitting"]["calibrations"]
    assert (same.outcome, same.snapshot) == ("unchanged", second.snapshot)
    hashes = [Router.open(report.snapshot).manifest.content_hash for report in (first, second, back)]
    assert hashes[0] == hashes[2] != hashes[1]
    assert "taken_over" not in night(4, **asked).tuning["adapter"]
