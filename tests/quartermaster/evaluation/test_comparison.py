"""Settings and snapshots side by side."""

import pytest

from quartermaster.evaluation import (
    ablate,
    against,
    ask,
    compared,
    comparison_rows,
    recipes_to_compare,
    removable_signals,
)
from router import RECIPES, Router, SettingsInvalid
from tests.quartermaster.evaluation.judging import of_the_phrases

JUDGEMENTS = of_the_phrases()


def test_what_is_better_is_so_with_both_signs_and_a_measurement_differs_from_itself_by_nothing(router: Router) -> None:
    recipes = recipes_to_compare(router, ["name", "expansion"])
    rows = [ask(router, JUDGEMENTS, recipe, whole=False) for recipe in recipes]
    names, words = rows
    here, there = against(words, names), against(names, words)
    assert here["recipe"] == "name" and here["difference"]["ndcg@10"]["p"] < 0.01
    assert here["difference"]["ndcg@10"]["difference"] == -there["difference"]["ndcg@10"]["difference"] > 0.3
    assert here["difference"]["ndcg@10"]["better"] == there["difference"]["ndcg@10"]["worse"]
    assert [row["ndcg@10"] for row in here["moved"]] == [-row["ndcg@10"] for row in there["moved"]]
    assert here["moved"][0]["first"][0] in here["moved"][0]["id"]
    same = compared(words, ask(router, JUDGEMENTS, recipes[1], whole=False))
    assert same["ndcg@10"] is not None and (same["ndcg@10"].difference, same["ndcg@10"].p) == (0, 1)
    assert same["multi@10"] is None and against(words, words)["moved"] == []

    first, second = comparison_rows(rows)  # the first is what others are compared with
    assert (first["recipe"], second["recipe"], first["difference"]) == ("name", "expansion", None)
    better = second["difference"]["hit@1"]
    assert better["difference"] == pytest.approx(second["metrics"]["hit@1"] - first["metrics"]["hit@1"])
    assert better["p"] < 0.05


def test_a_row_is_a_recipe_or_a_signal_alone(router: Router) -> None:
    assert [r.name for r in recipes_to_compare(router)] == [*RECIPES, *router.manifest.signals]
    (alone,) = recipes_to_compare(router, ["dense"])
    assert alone.weights == {"dense": 1} and alone.dense_view == router.recipe().dense_view
    with pytest.raises(SettingsInvalid, match="no recipe 'nam'"):
        recipes_to_compare(router, ["nam"])


def test_each_signal_is_left_out_in_turn(router: Router) -> None:
    measured = ask(router, JUDGEMENTS, "lexical", whole=False)
    routes: list[None] = []
    found = ablate(measured, lambda: routes.append(None))
    assert list(found) == ["name", "description", "expansion"] == removable_signals(measured)
    assert len(routes) == 3 * len(JUDGEMENTS)
    assert found["expansion"]["difference"]["ndcg@10"]["difference"] < -0.3
    (alone,) = recipes_to_compare(router, ["name"])
    assert ablate(ask(router, JUDGEMENTS[:1], alone, whole=False)) == {}
