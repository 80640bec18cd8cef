"""The registry of signals: a sixth is one retriever, one line in the registry and one member of `Signal`."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from router import RECIPES, Router, Signal
from router.contract import Manifest
from router.retrieval.registry import OPENERS
from router.retrieval.retrievers import Admitted, EncodedQuery, Ranking
from router.snapshot.snapshot import Snapshot


class Newest:
    """The last tool of a catalog is its newest: scored 1, the one before it 1/2, and so on."""

    needs_vector = False

    def __init__(self, folder: Path, manifest: Manifest, tools: int) -> None:
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
    monkeypatch.setitem(OPENERS, member, Newest)
    return member


def test_a_sixth_signal_is_ranked_fused_and_explained_and_without_a_weight_changes_nothing(
    newest: Signal, router: Router, snapshot: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(snapshot, tmp_path / snapshot.name)
    manifest = Manifest.read(folder)
    replace(manifest, signals=(*manifest.signals, newest)).write(folder)
    assert tuple(Snapshot.open(folder).retrievers) == (*manifest.signals, newest)
    widened, default = Router.open(folder), RECIPES["standard"]
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
    for tool, other in zip(plain, same, strict=True):
        assert (tool.tool_id, tool.score, tool.contributions) == (other.tool_id, other.score, other.contributions)
    assert plain.fits == same.fits
