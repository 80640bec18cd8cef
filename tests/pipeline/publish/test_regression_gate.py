"""The judged gate, in whole builds: what answers judged requests worse does not serve."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.publish import NOT_MEASURED, check_regression
from pipeline.settings import PublishSettings, load
from pipeline.store import SnapshotStore
from router import Router
from tests.support.notes import Notes
from tests.support.quick import QUICK
from tests.support.rows import write_rows

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
        write_rows(self.folder / file, rows)

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
        settings = load(self.folder, {**QUICK, "publish": publish}, environment={})
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


@pytest.fixture(scope="module")
def swapped(built: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Shop, BuildReport]:
    """A shop in which what was built last gives each tool the words of another, and does not serve."""
    shop = Shop(shutil.copytree(built, tmp_path_factory.mktemp("swapped") / "copy"))
    shop.swap()
    return shop, shop.build()


def test_what_answers_worse_beyond_chance_does_not_serve_and_is_written_once(
    swapped: tuple[Shop, BuildReport],
) -> None:
    shop, second = swapped
    first = Router.open(shop.store.folder).manifest
    assert first.evaluation is not None and first.evaluation["metrics"]["full@10"] == 1
    assert 1 <= len(first.evaluation["examples"]) <= 8
    assert (first.evaluation["missed_requests"], first.evaluation["missed"]) == (0, [])
    missed = Router.open(second.snapshot).manifest.evaluation or {}
    assert missed["missed_requests"] >= len(missed["missed"]) > 0 and missed["missed"][0]["tools"]
    assert second.outcome == "held" and second.snapshot.is_dir()
    assert shop.store.current() == first.snapshot
    (reason,) = second.held
    assert f"worse beyond chance than {first.snapshot}" in reason and "12 judged requests" in reason
    assert "ndcg@10" in reason and "after 1.000 (p < .001)" in reason
    assert "publish.significance (QUARTERMASTER_PUBLISH__SIGNIFICANCE) is 0.05" in reason
    manifest = Router.open(second.snapshot).manifest
    assert manifest.held == second.held and manifest.evaluation == second.evaluation
    assert manifest.evaluation is not None and manifest.evaluation["serving"]["snapshot"] == first.snapshot
    again = shop.build()  # it is not written again
    assert (again.outcome, again.snapshot, again.held) == ("held", second.snapshot, second.held)


# The gate alone, with the snapshots of the two builds.


@pytest.fixture(scope="module")
def two(swapped: tuple[Shop, BuildReport]) -> Shop:
    return swapped[0]


def checked(shop: Shop, rows: list[dict[str, Any]] | None = None, notes: Notes | None = None, **publish: Any) -> Any:
    """Check the newest snapshot of a shop against the one that serves, on these judged requests or its own."""
    newest = next(one.name for one in shop.store.snapshots() if one.name != shop.store.current())
    judgements = shop.folder / "judgements.jsonl"
    if rows is not None:
        judgements = shop.folder / "others.jsonl"
        write_rows(judgements, rows)
    new, serving = Router.open(shop.store.folder / newest), shop.store.folder / str(shop.store.current())
    return check_regression(new, serving, judgements, PublishSettings(**publish), notes or Notes())


def test_the_gate_can_be_switched_off_and_made_lenient(two: Shop) -> None:
    assert checked(two).held
    assert checked(two, judged=False) == NOT_MEASURED
    assert checked(two, significance=0.0).held == checked(two, smallest_loss=1.0).held == ()


def judged(shop: Shop) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (shop.folder / "judgements.jsonl").read_text("utf-8").splitlines()]


def test_a_loss_of_few_requests_may_be_chance(two: Shop) -> None:
    answered = {"required": [_IDS[6]], "acceptable": [_IDS[6]]}  # the tool that has the words of the first
    good = [{**judged(two)[0], "id": f"good{number}", **answered} for number in range(10)]
    assert checked(two, [*judged(two)[:2], *good]).held == ()  # two of twelve: p = .5


def test_at_most_so_many_requests_are_put_drawn_from_the_whole_file(two: Shop) -> None:
    evaluation = checked(two, max_judged=4).evaluation
    assert (evaluation["requests"], evaluation["of"]) == (4, 12)
    assert evaluation["examples"] == [f"{_VERBS[place]} something blue" for place in (0, 3, 6, 9)]


def test_judgements_of_other_tools_say_nothing_and_a_file_that_cannot_be_read_is_noted(two: Shop) -> None:
    others = [{**row, "required": ["choir/sing"], "acceptable": []} for row in judged(two)]
    assert checked(two, others) == NOT_MEASURED
    notes = Notes()
    assert checked(two, ["not a judgement"], notes) == NOT_MEASURED  # type: ignore[list-item]
    assert "others.jsonl, line 1" in notes.said[0]


@pytest.mark.nightly
def test_tools_that_went_are_named(shop: Shop) -> None:
    lines = (shop.folder / "tools.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (shop.folder / "tools.jsonl").write_text("".join(lines[8:]), encoding="utf-8")
    report = shop.build(max_rejected_share=1.0, max_removed_share=1.0)
    assert "8 judged tools are no longer in the catalog: tool/t00, tool/t01, tool/t02 and 5 more" in report.held[0]


@pytest.mark.nightly
def test_a_serving_snapshot_of_another_format_is_noted_and_holds_nothing_back(shop: Shop) -> None:
    first = shop.store.folder / str(shop.store.current())
    shop.swap()
    manifest = json.loads((first / "manifest.json").read_text(encoding="utf-8"))
    manifest["versions"]["format"] = 1
    (first / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    notes = Notes()
    assert shop.build(notes).outcome == "published"
    assert "format 1" in " ".join(notes.said)
