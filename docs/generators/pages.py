"""Which reference pages are generated, and by what."""

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.generators import command_line, recipes, settings, tables

REFERENCE = Path(__file__).parents[1] / "reference"
GENERATORS: Mapping[str, Callable[[], str]] = {
    "cli.md": command_line.page,
    "settings.md": settings.page,
    "recipes.md": recipes.page,
    "tables.md": tables.page,
}


def pages() -> dict[str, str]:
    """Return the text of each generated page by its file's name."""
    return {name: page() for name, page in GENERATORS.items()}
