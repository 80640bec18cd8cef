"""Settings and snapshots side by side."""

from typing import Any

import pytest

from router import RECIPES, Router, SettingsInvalid
from router.evaluation import (
    METRICS,
    Judgement,
    ablate,
    against,
    ask,
    compared,
    comparison_rows,
    mean_rows,
    recipes_to_compare,
    removable_signals,
)
from tests.support.factories import TOOLS, expansion_row


@pytest.fixture(scope="module")
def judgements() -> list[Judgement]:
    """Each of the catalog's phrases, as a request for its tool."""
    return [
        Judgement(f"{tool['id']} {i}", phrase, frozenset({tool["id"]}), frozenset({tool["id"]}), "single")
        for tool in TOOLS
        for i, phrase in enumerate(expansion_row(tool)["user_phrases"])
    ]


def test_a_measurement_differs_from_itself_by_nothing(router: Router, judgements: list[Judgement]) -> None:
    first, second = ask(router, judgements, "lexical", whole=False), ask(router, judgements, "lexical", whole=False)
    found = compared(first, second)["ndcg@10"]
    assert found is not None and (found.difference, found.p) == (0, 1)
    assert compared(first, second)["multi@10"] is None
    assert against(first, second)["moved"] == []


def test_what_is_better_is_so_with_both_signs(router: Router, judgements: list[Judgement]) -> None:
    words, names = (
        ask(router, judgements, recipe, whole=False) for recipe in recipes_to_compare(router, ["expansion", "name"])
    )
    here, there = against(words, names), against(names, words)
    assert here["recipe"] == "name" and here["difference"]["ndcg@10"]["p"] < 0.01
    assert here["difference"]["ndcg@10"]["difference"] == -there["difference"]["ndcg@10"]["difference"] > 0.3
    assert here["difference"]["ndcg@10"]["better"] == there["difference"]["ndcg@10"]["worse"]
    assert [row["ndcg@10"] for row in here["moved"]] == [-row["ndcg@10"] for row in there["moved"]]
    assert here["moved"][0]["first"][0] in here["moved"][0]["id"]


def test_the_first_row_is_what_others_are_compared_with(router: Router, judgements: list[Judgement]) -> None:
    rows = comparison_rows(
        [ask(router, judgements, r, whole=False) for r in recipes_to_compare(router, ["name", "expansion", "lexical"])]
    )
    assert [row["recipe"] for row in rows] == ["name", "expansion", "lexical"]
    assert rows[0]["difference"] is None
    better = rows[1]["difference"]["hit@1"]
    assert better["difference"] == pytest.approx(rows[1]["metrics"]["hit@1"] - rows[0]["metrics"]["hit@1"])
    assert better["p"] < 0.05


def test_a_row_is_a_recipe_or_a_signal_alone(router: Router) -> None:
    assert [r.name for r in recipes_to_compare(router)] == [*RECIPES, *router.manifest.signals]
    (alone,) = recipes_to_compare(router, ["dense"])
    assert alone.weights == {"dense": 1} and alone.dense_view == router.recipe().dense_view
    with pytest.raises(SettingsInvalid, match="no recipe 'nam'"):
        recipes_to_compare(router, ["nam"])


def test_several_benches_count_alike() -> None:
    def bench(**values: float | None) -> dict[str, Any]:
        return {
            "rows": [
                {"recipe": name, "metrics": {metric.key: None for metric in METRICS} | {"ndcg@10": value}}
                for name, value in values.items()
            ]
        }  # fmt: skip

    found = mean_rows([bench(a=0.2, b=0.5, c=1.0), bench(a=0.4, b=None)])
    assert found is not None
    assert [(row["recipe"], row["metrics"]["ndcg@10"]) for row in found] == [
        ("a", pytest.approx(0.3)),
        ("b", 0.5),
    ]
    assert mean_rows([bench(a=1.0)]) is None


def test_each_signal_is_left_out_in_turn(router: Router, judgements: list[Judgement]) -> None:
    measured = ask(router, judgements, "lexical", whole=False)
    routes: list[None] = []
    found = ablate(measured, lambda: routes.append(None))
    assert list(found) == ["name", "description", "expansion"] == removable_signals(measured)
    assert len(routes) == 3 * len(judgements)
    assert found["expansion"]["difference"]["ndcg@10"]["difference"] < -0.3
    (alone,) = recipes_to_compare(router, ["name"])
    assert ablate(ask(router, judgements[:1], alone, whole=False)) == {}
