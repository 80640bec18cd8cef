"""The lexicon's table."""

import tomllib
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["lexicon"]


@cache
def lexicon() -> dict[str, Any]:
    """Return `lexicon.toml`: verbs, articles, pairs, nouns, classes and irregular plurals."""
    text = resources.files("router.tools.lexicon").joinpath("lexicon.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
