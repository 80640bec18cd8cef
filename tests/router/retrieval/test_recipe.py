"""Recipes as settings."""

import pytest

from router import RECIPES, Recipe, SettingsInvalid

# What decisions and measurements are of: another number is another ranking of every request.
MEASURED = {"name": 0.3, "description": 0.4, "expansion": 0.6, "dense": 2, "intent": 1}
WEIGHTS = {
    "default": MEASURED,
    "standard": MEASURED,
    "adaptive": MEASURED,
    "published": {"name": 1, "description": 1, "expansion": 2, "dense": 2},
    "lexical": {"name": 0.35, "description": 0.35, "expansion": 0.30},
}
SETTINGS = {  # fusion, k, lead, shortfall, dense view
    "default": ("rrf", 100, 1, 100, "mean"),
    "standard": ("convex", 60, 0, 0, "mean"),
    "adaptive": ("rrf", 5, 0, 0, "mean"),
    "published": ("rrf", 60, 0, 0, "document"),
    "lexical": ("convex", 60, 0, 0, "document"),
}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_the_weights_that_were_measured_and_survives_its_json(name: str) -> None:
    recipe = RECIPES[name]
    assert {signal: weight for signal, weight in recipe.weights.items() if weight} == WEIGHTS[name]
    assert (recipe.fusion, recipe.k, recipe.lead, recipe.shortfall, recipe.dense_view) == SETTINGS[name]
    assert Recipe.from_json(recipe.to_json()) == recipe


def test_the_default_uses_all_that_there_is_and_the_published_ones_fusion_alone() -> None:
    uses = ("adapter", "steps", "collapse", "prerequisites", "implicit_needs", "assume_unread")
    assert all(getattr(RECIPES["default"], use) and not getattr(RECIPES["published"], use) for use in uses)
    assert [name for name, recipe in RECIPES.items() if recipe.adaptive] == ["default", "adaptive"]
    assert [name for name, recipe in RECIPES.items() if recipe.normalization == "standard"] == ["standard"]


def test_a_recipe_written_before_lead_and_shortfall_keeps_its_meaning() -> None:
    row = {key: value for key, value in RECIPES["adaptive"].to_json().items() if key not in ("lead", "shortfall")}
    assert Recipe.from_json(row) == RECIPES["adaptive"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": {"name": -1}}, "weights.name is -1"),
        ({"weights": {"name": 0}}, "positive for at least one"),
        ({"weights": {"nose": 1}}, "'nose', it must be a weight for name, description, expansion, dense, intent"),
        ({"weights": {"name": "much"}}, "much"),
        ({"weights": {"name": 1e308}}, "weights.name is 1e\\+308"),
        ({"lead": -1}, "lead is -1"),
        ({"shortfall": float("inf")}, "shortfall is inf, it must be a number from 0 to 1,000,000"),
        ({"k": float("nan")}, "k is nan"),
        ({"depth": 0}, "depth is 0"),
        ({"fusion": "sum"}, "sum"),
        ({"dense_view": "best"}, "best"),
        ({"steps": 1}, "steps is 1, it must be true or false"),
        ({"weight": {}}, "unknown field weight"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        Recipe.from_json({"weights": {"name": 1}, **change})
