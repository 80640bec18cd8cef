"""The reference of recipes, from `router.retrieval.recipe`."""

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter

from docs.generators.docstrings import attributes, prose
from docs.generators.markdown import code, table
from router.contract import Signal
from router.retrieval.recipe import RECIPES, Fusion, Normalization, Recipe
from router.retrieval.retrievers import DenseView

_HEAD = """# Recipes

A recipe says how the rankings of the signals become one. Name one with `recipe=` in Python or `--recipe` on the command
line, or write your own in `catalog.toml` or in Python: see [how an answer is made](../how_an_answer_is_made.md).
"""


def page() -> str:
    """Return the page: the published recipes field by field, then what the choices mean."""
    meanings = attributes(Recipe)
    names = [field.name for field in fields(Recipe) if field.name not in ("name", "weights")]
    rows = [
        *([f"weight of {code(signal)}", *_by_recipe(_weight(signal)), ""] for signal in Signal),
        *([code(name), *_by_recipe(attrgetter(name)), meanings[name]] for name in names),
    ]
    sections = [
        f"## `{name}`\n\n{prose(kind)}"
        for name, kind in (("fusion", Fusion), ("normalization", Normalization), ("dense_view", DenseView))
    ]
    return (
        "\n\n".join([_HEAD.strip(), table(["", *map(code, RECIPES), "meaning"], rows), prose(Recipe), *sections]) + "\n"
    )


def _weight(signal: str) -> Callable[[Recipe], float]:
    return lambda recipe: recipe.weights.get(signal, 0)


def _by_recipe(value: Callable[[Recipe], object]) -> list[str]:
    return [_shown(value(recipe)) for recipe in RECIPES.values()]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
