"""Recipes as settings."""

import pytest

from router import RECIPES, Recipe, SettingsInvalid

# What decisions and measurements are of: another number is another ranking of every request.
MEASURED = {"name": 0.3, "description": 0.4, "expansion": 0.6, "dense": 2, "intent": 1}
PUBLISHED = {"name": 1, "description": 1, "expansion": 2, "dense": 2}
LEXICAL = {"name": 0.35, "description": 0.35, "expansion": 0.30}


@pytest.mark.parametrize(
    ("name", "weights", "settings"),  # fusion, k, lead, shortfall, dense view
    [
        ("default", MEASURED, ("rrf", 100, 1, 100, "mean")),
        ("standard", MEASURED, ("convex", 60, 0, 0, "mean")),
        ("adaptive", MEASURED, ("rrf", 5, 0, 0, "mean")),
        ("published", PUBLISHED, ("rrf", 60, 0, 0, "document")),
        ("lexical", LEXICAL, ("convex", 60, 0, 0, "document")),
    ],
)
def test_a_recipe_has_the_weights_that_were_measured_and_survives_its_json(
    name: str, weights: dict[str, float], settings: tuple[object, ...]
) -> None:
    recipe = RECIPES[name]
    assert {signal: weight for signal, weight in recipe.weights.items() if weight} == weights
    assert (recipe.fusion, recipe.k, recipe.lead, recipe.shortfall, recipe.dense_view) == settings
    row = recipe.to_json()
    assert Recipe.from_json(row) == recipe
    before = {key: value for key, value in row.items() if value or key not in ("lead", "shortfall")}
    assert Recipe.from_json(before) == recipe, "one that was written before lead and shortfall keeps its meaning"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": {"name": -1}}, "weights.name is -1"),
        ({"weights": {"name": 0}}, "positive for at least one"),
        ({"weights": {"nose": 1}}, "'nose', it must be a weight for name, description, expansion, dense, intent"),
        ({"weights": {"name": 1e308}}, "weights.name is 1e\\+308"),
        ({"shortfall": float("inf")}, "shortfall is inf, it must be a number from 0 to 1,000,000"),
        ({"depth": 0}, "depth is 0"),
        ({"fusion": "sum"}, "sum"),
        ({"steps": 1}, r"Expected `bool`, got `int` - at `\$.steps`"),
        ({"weight": {}}, "unknown field weight"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        Recipe.from_json({"weights": {"name": 1}, **change})
