"""The registry of signals: a sixth is one retriever, one line in the registry and one member of `Signal`."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from router import RECIPES, Router, Signal
from router.contract import Manifest
from router.retrieval.registry import OPENERS
from router.retrieval.retrievers import Admitted, EncodedQuery, Ranking, Retriever
from router.snapshot.snapshot import Snapshot


class Newest:
    """The last tool of a catalog is its newest: scored 1, the one before it 1/2, and so on."""

    needs_vector = False

    def __init__(self, tools: int) -> None:
        self._tools = tools

    def rank(self, query: EncodedQuery, depth: int, admitted: Admitted | None = None) -> Ranking:
        """Rank by the rank from the end, whatever the query says."""
        ordinals = np.arange(self._tools)[::-1] if admitted is None else admitted.ordinals[::-1]
        return Ranking.of(ordinals, 1.0 / np.arange(1, len(ordinals) + 1)).cut(depth)


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> Signal:
    """A sixth member of `Signal`, and its line in the registry."""
    member = str.__new__(Signal, "newest")
    member._name_, member._value_ = "NEWEST", "newest"
    monkeypatch.setitem(Signal._member_map_, "NEWEST", member)
    monkeypatch.setitem(Signal._value2member_map_, "newest", member)
    monkeypatch.setattr(Signal, "_member_names_", [*Signal._member_names_, "NEWEST"])
    monkeypatch.setitem(OPENERS, member, _open_newest)
    return member


def _open_newest(folder: Path, manifest: Manifest, tools: int) -> Retriever:
    return Newest(tools)


@pytest.fixture
def opened_with(snapshot: Path, tmp_path: Path) -> Callable[[Signal], Router]:
    """A router over a copy of the session's snapshot whose manifest has a signal more."""

    def opened(signal: Signal) -> Router:
        folder = shutil.copytree(snapshot, tmp_path / snapshot.name)
        manifest = Manifest.read(folder)
        replace(manifest, signals=(*manifest.signals, signal)).write(folder)
        return Router.open(folder)

    return opened


def test_a_snapshot_opens_the_retrievers_of_its_signals_in_their_order(snapshot: Path) -> None:
    assert list(OPENERS) == list(Signal)
    opened = Snapshot.open(snapshot)
    assert tuple(opened.retrievers) == opened.manifest.signals
    assert opened.dense is opened.retrievers[Signal.DENSE]
    assert list(opened.lexical) == [Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION]


def test_a_sixth_signal_is_ranked_fused_and_explained_and_without_a_weight_changes_nothing(
    newest: Signal, opened_with: Callable[[Signal], Router], router: Router
) -> None:
    widened, default = opened_with(newest), RECIPES["standard"]
    recipe = replace(default, name="newest", weights={**default.weights, newest: 50})
    last = widened.tool_id(len(widened) - 1)
    ranking = widened.rankings("send an invoice", recipe=recipe)["newest"]
    assert ranking.ordinals.tolist() == list(range(len(widened)))[::-1]
    first = widened.route("send an invoice", recipe=recipe, explain=True)[0]
    assert (first.tool_id, first.ranks["newest"]) == (last, 1)
    assert first.contributions["newest"] == pytest.approx(50 / sum(recipe.weights.values()))
    tool, rank = widened.explain("send an invoice", last, recipe=recipe)
    assert rank == 1 and tool.contributions["newest"] > 0.9 * tool.score

    plain, same = (side.route("send an invoice", explain=True) for side in (router, widened))
    assert [(tool.tool_id, tool.score, tool.contributions) for tool in plain] == [
        (tool.tool_id, tool.score, tool.contributions) for tool in same
    ]
    assert plain.fits == same.fits
