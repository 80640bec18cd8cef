"""A tool that takes other tools' requests is held back alone; the rest of the night's build is published."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.ledger import Ledger
from pipeline.ledger.quarantine import RELEASED
from pipeline.settings import load
from router import Router
from router.contract import Manifest
from tests.support.rows import select, write_rows

# Any tool that enters a request of another provider is held: the encoder of the tests has random weights.
_STRICT = {"quarantine_requests": 1, "quarantine_distance": 0.0, "max_removed_share": 1.0}
_GREEDY = "t3/task3"


def _tool(number: int, description: str = "") -> dict[str, Any]:
    return {
        "id": f"t{number}/task{number}",
        "name": f"task{number}",
        "provider": f"t{number}",
        "description": description or f"Does task {number}.",
    }


def _phrases(number: int) -> list[str]:
    return [f"order{number} item{number}x{way}" for way in range(11)]


class Catalog:
    """Twelve tools of twelve providers, and their nights."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        self.folder, self.workspace, self._encoder = folder / "office", folder / "ws", encoder
        self.folder.mkdir(exist_ok=True)

    def night(
        self, *more: tuple[dict[str, Any], list[str]], vectors: bool = True, recipe: str = "default", **publish: Any
    ) -> BuildReport:
        """Build the twelve tools and others, each with its phrases; one of the same id replaces one of the twelve."""
        tools = {tool["id"]: (tool, _phrases(number)) for number in range(12) for tool in [_tool(number)]}
        tools |= {tool["id"]: (tool, phrases) for tool, phrases in more}
        rows = [tool for tool, _ in tools.values()]
        words = [{"id": tool_id, "user_phrases": phrases} for tool_id, (_, phrases) in tools.items()]
        write_rows(self.folder / "tools.jsonl", rows)
        write_rows(self.folder / "expansions.jsonl", words)
        sections: dict[str, dict[str, Any]] = {
            "vectors": {"encoder": str(self._encoder) if vectors else "none", "precision": "fp32"},
            "enrichment": {"generator": "none"},
            "assessment": {"enabled": False},
            "retrieval": {"recipe": recipe},
            "tuning": {"adapter": False, "calibrate": False},
            "ledger": {"backups": 0},
            "publish": {**_STRICT, **publish},
        }
        return build(load(self.folder, sections, environment={}), workspace=self.workspace)

    def ledger(self) -> Ledger:
        """Open the ledger."""
        return Ledger.open(self.workspace)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Path:
    """The folder of the catalog, published once."""
    folder = tmp_path_factory.mktemp("quarantine")
    Catalog(folder, encoder_folder).night()
    return folder


@pytest.fixture
def catalog(tmp_path: Path, published: Path, encoder_folder: Path) -> Catalog:
    """A copy of the published catalog."""
    shutil.copytree(published, tmp_path / "copy")
    return Catalog(tmp_path / "copy", encoder_folder)


_NEW = ({"id": "z/moon", "name": "moon", "provider": "z", "description": "Tells the phase of the moon."}, _phrases(3))


def test_a_new_tool_that_takes_requests_is_left_out_and_told_once_until_it_takes_fewer(
    catalog: Catalog,
) -> None:
    night = partial(catalog.night, recipe="lexical")  # the processor's rounding orders vectors of random weights
    night()
    first = night(_NEW, (_tool(4), [*_phrases(4), "another way"]))
    assert [one.tool_id for one in first.quarantined] == ["z/moon"]
    assert (first.outcome, first.held, first.exit_code) == ("published", (), 1)
    router = Router.open(first.snapshot)
    assert router.record("z/moon") is None
    assert "another way" in router.phrases("t4/task4")
    (told,) = Manifest.read(first.snapshot).quarantined
    assert (told["tool_id"], told["kind"]) == ("z/moon", "new") and told["examples"][0]["served"]
    assert select(first.snapshot, "SELECT tool_id FROM quarantine") == [("z/moon",)]
    assert select(catalog.workspace / "ledger.duckdb", "SELECT tool_id, kind FROM quarantined") == [("z/moon", "new")]
    # The next night measures nothing, changes nothing, and is not told again.
    second = night(_NEW, (_tool(4), [*_phrases(4), "another way"]))
    assert (second.outcome, second.snapshot) == ("unchanged", first.snapshot)
    assert "quarantine" in first.seconds and "quarantine" not in second.seconds
    assert [one.tool_id for one in second.quarantined] == ["z/moon"]
    assert (second.exit_code, second.newly_quarantined) == (0, ())
    later = night(_NEW, quarantine_distance=1.0)  # it no longer exceeds the limits
    assert (later.outcome, later.quarantined) == ("published", ())
    with catalog.ledger() as ledger:
        assert ledger.quarantine.tools("office", "snapshots") == []


@pytest.mark.nightly
def test_a_released_tool_serves_until_it_changes(catalog: Catalog) -> None:
    held = catalog.night(_NEW)
    with catalog.ledger() as ledger:
        ledger.quarantine.decide("office", "snapshots", ["z/moon"], RELEASED)
    released = catalog.night(_NEW)
    assert (released.outcome, released.quarantined, released.exit_code) == ("published", (), 0)
    assert Manifest.read(released.snapshot).content_hash != Manifest.read(held.snapshot).content_hash
    assert Router.open(released.snapshot).record("z/moon") is not None
    changed = catalog.night((_NEW[0], _phrases(6)))
    assert [(one.tool_id, one.kind) for one in changed.quarantined] == [("z/moon", "changed")]


def test_a_changed_tool_keeps_the_record_and_the_phrases_that_serve(catalog: Catalog) -> None:
    changed = (_tool(3, "Tells the phase of the moon."), [_phrases(n)[0] for n in range(12) if n != 3])
    report = catalog.night(changed)
    assert [(one.tool_id, one.kind) for one in report.quarantined] == [(_GREEDY, "changed")]
    router = Router.open(report.snapshot)
    record = router.record(_GREEDY)
    assert record is not None and record.description == "Does task 3."
    assert set(router.phrases(_GREEDY)) == set(_phrases(3))


_WORDS = "alpha bravo gamma delta hotel india kilo lima oscar papa romeo tango".split()


def _grown(catalog: Catalog, *others: int) -> BuildReport:
    """A night in which each tool has a word of its own, and the greedy one shares those of others."""
    said = [[f"{word} {word}{letter}q" for letter in "abcdefghijk"] for word in _WORDS]
    said[3] = [*said[3][:8], *(said[other][0] for other in others)]
    tools = ((_tool(number), phrases) for number, phrases in enumerate(said))
    return catalog.night(*tools, recipe="lexical", quarantine_requests=15)


def test_small_changes_count_together(catalog: Catalog) -> None:
    _grown(catalog)  # other words for most tools: nothing is tried
    assert _grown(catalog, 5).quarantined == ()  # it enters the 11 requests of another tool
    second = _grown(catalog, 5, 6)
    (held,) = second.quarantined
    assert (held.tool_id, held.kind) == (_GREEDY, "changed") and held.requests > 15
    # It is found by what it was before the first of these changes.
    assert set(Router.open(second.snapshot).phrases(_GREEDY)) == {f"delta delta{letter}q" for letter in "abcdefgh"}


@pytest.mark.nightly
def test_what_a_person_released_is_what_later_changes_are_measured_against(catalog: Catalog) -> None:
    _grown(catalog)
    _grown(catalog, 5)
    assert [_grown(catalog, 5, 6).outcome for _ in range(2)] == ["published", "unchanged"]
    with catalog.ledger() as ledger:
        ledger.quarantine.decide("office", "snapshots", [_GREEDY], RELEASED)
    assert _grown(catalog, 5, 6).quarantined == ()
    assert _grown(catalog, 5, 6, 7).quarantined == ()


@pytest.mark.nightly
def test_new_words_for_most_tools_hold_nothing_back(catalog: Catalog) -> None:
    rewritten = [(_tool(number), _phrases((number + 1) % 12)) for number in range(12)]
    report = catalog.night(*rewritten)
    assert (report.outcome, report.quarantined) == ("published", ())


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"quarantine": False}, marks=pytest.mark.nightly),
        pytest.param({"vectors": False}, marks=pytest.mark.nightly),
        {"max_probes": 50},
    ],
)
def test_without_the_setting_vectors_or_enough_requests_nothing_is_tried(
    catalog: Catalog, settings: dict[str, Any]
) -> None:
    assert catalog.night(_NEW, **settings).quarantined == ()
