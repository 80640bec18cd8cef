"""The card of a trained encoder: what it was made of, by what, and how well it does."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

CARD = "training.json"
_PACKAGES = ("torch", "sentence-transformers", "transformers")


def write_card(folder: Path, figures: Mapping[str, Any]) -> None:
    """Write the card into an encoder's folder. It holds no date and no duration: equal trainings give equal files."""
    card = {**figures, "versions": {package: version(package) for package in _PACKAGES}}
    (folder / CARD).write_text(json.dumps(card, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def read_card(folder: Path) -> dict[str, Any]:
    """Return the card in an encoder's folder; empty where it has none that can be read."""
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return card if isinstance(card, dict) else {}
