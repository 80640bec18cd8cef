"""Recipes as settings."""

import pytest

from router import RECIPES, Recipe, SettingsInvalid, Signal


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_survives_its_json(name: str) -> None:
    assert Recipe.from_json(RECIPES[name].to_json()) == RECIPES[name]


def test_the_published_recipe_is_as_published() -> None:
    recipe = RECIPES["published"]
    assert (recipe.fusion, recipe.k, recipe.dense_view) == ("rrf", 60, "document")
    assert [recipe.weights[signal] for signal in Signal] == [1, 1, 2, 2, 0]


def test_the_lexical_recipe_is_as_published() -> None:
    recipe = RECIPES["lexical"]
    assert recipe.fusion == "convex"
    assert [recipe.weights[signal] for signal in Signal] == [0.35, 0.35, 0.30, 0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": {"name": -1}}, "weights.name is -1"),
        ({"weights": {"name": 0}}, "positive for at least one"),
        (
            {"weights": {"nose": 1}},
            "weights is 'nose', it must be a weight for name, description, expansion, dense, intent",
        ),
        ({"weights": {"name": "much"}}, "much"),
        ({"k": -3}, "k is -3"),
        ({"depth": 0}, "depth is 0"),
        ({"fusion": "sum"}, "sum"),
        ({"dense_view": "best"}, "best"),
        ({"weight": {}}, "unknown field weight"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        Recipe.from_json({"weights": {"name": 1}, **change})
