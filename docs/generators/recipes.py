"""The reference of recipes, from `router.retrieval.recipe`."""

import inspect
from dataclasses import fields

from docs.generators.markdown import code, table
from router.contract import Signal
from router.retrieval.recipe import RECIPES, Fusion, Normalization, Recipe
from router.retrieval.retrievers import DenseView

_HEAD = """# Recipes

A recipe says how the rankings of the signals become one. Name one with `recipe=` in Python or `--recipe` on the command
line, or write your own in `catalog.toml` or in Python: see [how an answer is made](../how_an_answer_is_made.md).
"""


def page() -> str:
    """Return the page: the published recipes field by field, then what each field means."""
    names = [field.name for field in fields(Recipe) if field.name not in ("name", "weights")]
    rows = [
        *(
            [f"weight of {signal}", *(_number(recipe.weights.get(signal, 0)) for recipe in RECIPES.values())]
            for signal in Signal
        ),
        *([code(name), *(_shown(getattr(recipe, name)) for recipe in RECIPES.values())] for name in names),
    ]
    meaning = [inspect.cleandoc(kind.__doc__ or "") for kind in (Recipe, Fusion, Normalization, DenseView)]
    headings = ("Fields", "`fusion`", "`normalization`", "`dense_view`")
    sections = [f"## {heading}\n\n{text}" for heading, text in zip(headings, meaning, strict=True)]
    return "\n\n".join([_HEAD.strip(), table(["", *map(code, RECIPES)], rows), *sections]) + "\n"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _number(value) if isinstance(value, int | float) else str(value)


def _number(value: float) -> str:
    return f"{value:g}"
