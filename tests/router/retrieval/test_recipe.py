"""Recipes as settings."""

import pytest

from router import RECIPES, Recipe, SettingsInvalid


def weights(recipe: Recipe) -> dict[str, float]:
    """The weights of a recipe that are not 0."""
    return {signal: weight for signal, weight in recipe.weights.items() if weight}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_survives_its_json(name: str) -> None:
    assert Recipe.from_json(RECIPES[name].to_json()) == RECIPES[name]


def test_the_published_recipe_is_as_published() -> None:
    recipe = RECIPES["published"]
    assert (recipe.fusion, recipe.k, recipe.dense_view) == ("rrf", 60, "document")
    assert weights(recipe) == {"name": 1, "description": 1, "expansion": 2, "dense": 2}


def test_the_lexical_recipe_is_as_published() -> None:
    recipe = RECIPES["lexical"]
    assert recipe.fusion == "convex"
    assert weights(recipe) == {"name": 0.35, "description": 0.35, "expansion": 0.30}


def test_the_default_is_weighted_rrf_and_standard_sums_standard_scores() -> None:
    default, standard = RECIPES["default"], RECIPES["standard"]
    assert (default.fusion, default.adaptive, default.normalization) == ("rrf", True, "minmax")
    assert (standard.fusion, standard.normalization) == ("convex", "standard")
    assert weights(default) == weights(standard)


def test_a_recipe_written_before_lead_and_shortfall_keeps_its_meaning() -> None:
    row = {key: value for key, value in RECIPES["adaptive"].to_json().items() if key not in ("lead", "shortfall")}
    assert Recipe.from_json(row) == RECIPES["adaptive"]
    assert (RECIPES["adaptive"].lead, RECIPES["adaptive"].shortfall) == (0, 0)


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
        ({"lead": -1}, "lead is -1"),
        ({"shortfall": float("inf")}, "shortfall is inf"),
        ({"lead": 1e308}, "lead is 1e\\+308, it must be a number from 0 to 1,000,000"),
        ({"weights": {"name": 1e308}}, "weights.name is 1e\\+308"),
        ({"k": float("nan")}, "k is nan"),
        ({"depth": 0}, "depth is 0"),
        ({"fusion": "sum"}, "sum"),
        ({"dense_view": "best"}, "best"),
        ({"weight": {}}, "unknown field weight"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        Recipe.from_json({"weights": {"name": 1}, **change})
