"""The judged gate, in whole builds: what answers judged requests worse does not serve."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.publish import SnapshotStore
from pipeline.settings import load
from router import Router
from tests.pipeline.build.test_build import edit

# Twelve tools whose own text says nothing: requests are answered by the expansions alone.
_VERBS = "borrow carve deliver examine fold gather harvest inspect juggle knit launch mend".split()
_IDS = [f"tool/t{number:02}" for number in range(len(_VERBS))]


class Shop:
    """A judged catalog in a folder, and its builds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shop"
        self.store = SnapshotStore(folder / "ws", "shop")
        self._workspace = folder / "ws"

    @classmethod
    def make(cls, folder: Path) -> "Shop":
        """A catalog whose requests are all answered."""
        shop = cls(folder)
        shop.folder.mkdir()
        shop.write("tools.jsonl", ({"id": i, "name": i[5:], "provider": "tool", "description": ""} for i in _IDS))
        shop.expand(_VERBS)
        judged = {i: f"{verb} something blue" for i, verb in zip(_IDS, _VERBS, strict=True)}
        shop.write(
            "judgements.jsonl",
            ({"id": i, "query": q, "required": [i], "acceptable": [i], "kind": "single"} for i, q in judged.items()),
        )
        return shop

    def write(self, file: str, rows: Any) -> None:
        """Write a file of the catalog."""
        (self.folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def expand(self, verbs: Sequence[str]) -> None:
        """Give each tool one phrase, with its verb."""
        self.write(
            "expansions.jsonl",
            ({"id": i, "user_phrases": [f"{verb} it"]} for i, verb in zip(_IDS, verbs, strict=True)),
        )

    def swap(self) -> None:
        """Give each tool the words of another."""
        self.expand(_VERBS[6:] + _VERBS[:6])

    def build(self, progress: Any = None, **publish: Any) -> BuildReport:
        """Build it without an encoder, with these settings of the gate."""
        settings = load(self.folder, {"vectors": {"encoder": "none"}, "publish": publish}, environment={})
        return build(settings, workspace=self._workspace, progress=progress)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a shop that was built once. To be copied."""
    folder = tmp_path_factory.mktemp("built")
    Shop.make(folder).build()
    return folder


@pytest.fixture
def shop(built: Path, tmp_path: Path) -> Shop:
    """A shop whose first snapshot serves."""
    return Shop(shutil.copytree(built, tmp_path / "copy"))


class Notes:
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def start(self, stage: str, total: int | None = None) -> None:
        pass

    def advance(self, count: int = 1) -> None:
        pass

    def note(self, message: str) -> None:
        self.said.append(message)


def test_what_answers_worse_beyond_chance_is_kept_and_does_not_serve(shop: Shop) -> None:
    first = Router.open(shop.store.folder).manifest
    assert first.evaluation is not None and first.evaluation["metrics"]["full@10"] == 1
    assert 1 <= len(first.evaluation["examples"]) <= 8
    shop.swap()
    second = shop.build()
    assert second.outcome == "held" and second.snapshot.is_dir()
    assert shop.store.current() == first.snapshot
    (reason,) = second.held
    assert f"worse beyond chance than {first.snapshot}" in reason and "12 judged requests" in reason
    assert "ndcg@10" in reason and "after 1.000 (p < .001)" in reason
    assert "publish.significance (QUARTERMASTER_PUBLISH__SIGNIFICANCE) is 0.05" in reason
    manifest = Router.open(second.snapshot).manifest
    assert manifest.held == second.held and manifest.evaluation == second.evaluation
    assert manifest.evaluation is not None and manifest.evaluation["serving"]["snapshot"] == first.snapshot


def test_held_again_it_is_not_written_again_and_mended_it_serves(shop: Shop) -> None:
    shop.swap()
    held = shop.build()
    again = shop.build()
    assert (again.outcome, again.snapshot) == ("held", held.snapshot)
    assert again.held == held.held
    (shop.folder / "judgements.jsonl").unlink()  # with nothing to hold it against, it may serve
    mended = shop.build()
    assert mended.outcome == "published" and shop.store.current() == mended.snapshot.name != held.snapshot.name


def test_the_gate_can_be_switched_off_and_made_lenient(shop: Shop) -> None:
    shop.swap()
    assert shop.build(significance=0.0).outcome == "published"
    shop.expand(_VERBS)
    assert shop.build().outcome == "published"  # better holds nothing back
    shop.swap()
    off = shop.build(judged=False)
    assert off.outcome == "published" and off.evaluation is None


def test_a_loss_too_small_to_matter_holds_nothing_back(shop: Shop) -> None:
    shop.swap()
    assert shop.build(smallest_loss=1.0).outcome == "published"


def test_a_loss_of_few_requests_may_be_chance(shop: Shop) -> None:
    shop.expand([_VERBS[1], _VERBS[0], *_VERBS[2:]])  # two of twelve: p = .5
    assert shop.build().outcome == "published"


def test_tools_that_went_are_named(shop: Shop) -> None:
    lines = (shop.folder / "tools.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (shop.folder / "tools.jsonl").write_text("".join(lines[8:]), encoding="utf-8")
    report = shop.build(max_rejected_share=1.0, max_removed_share=1.0)
    assert "8 judged tools are no longer in the catalog: tool/t00, tool/t01, tool/t02, …" in report.held[0]


def test_at_most_so_many_requests_are_put_drawn_from_the_whole_file(shop: Shop) -> None:
    shop.swap()
    evaluation = shop.build(max_judged=5).evaluation
    assert evaluation is not None and (evaluation["requests"], evaluation["of"]) == (5, 12)


def test_judgements_of_other_tools_say_nothing(shop: Shop) -> None:
    for position in range(len(_VERBS)):
        edit(shop.folder / "judgements.jsonl", position, required=["choir/sing"], acceptable=[])
    shop.swap()
    assert shop.build().evaluation is None


@pytest.mark.parametrize("broken", ["judgements.jsonl", "manifest.json"])
def test_what_cannot_be_compared_is_noted_and_holds_nothing_back(shop: Shop, broken: str) -> None:
    first = shop.store.folder / str(shop.store.current())
    shop.swap()
    if broken == "manifest.json":
        manifest = json.loads((first / broken).read_text(encoding="utf-8"))
        manifest["versions"]["format"] = 1
        (first / broken).write_text(json.dumps(manifest), encoding="utf-8")
    else:
        (shop.folder / broken).write_text("not json\n", encoding="utf-8")
    notes = Notes()
    report = shop.build(notes)
    assert report.outcome == "published"
    said = " ".join(notes.said)
    assert ("judgements.jsonl, line 1" if broken == "judgements.jsonl" else "format 1") in said
