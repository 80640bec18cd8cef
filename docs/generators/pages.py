"""Which reference pages are generated, and by what."""

from pathlib import Path

from docs.generators import command_line, recipes, settings

REFERENCE = Path(__file__).parents[1] / "reference"


def pages() -> dict[str, str]:
    """Return the text of each generated page by its file's name."""
    return {"cli.md": command_line.page(), "settings.md": settings.page(), "recipes.md": recipes.page()}
