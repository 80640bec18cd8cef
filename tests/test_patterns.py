"""Every pattern that meets catalog text or a model's answer takes time in proportion to the text."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from router.tools.trust import steering_text
from tests.support.adversarial import growth

# Requests and arguments of clients, which their servers bound.
_OTHER_ROOMS = (
    "router.query",
    "quartermaster.serving",
    "router.selection",
    "router.snapshot",
    "quartermaster.adapters",
)
_METHODS = ("sub", "match", "search", "findall", "split", "fullmatch", "finditer")


def _modules() -> Iterator[Any]:
    for name in ("router", "pipeline"):
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.startswith(_OTHER_ROOMS):
                yield importlib.import_module(found.name)


def _compiled(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _compiled(item)


def _written(path: Path) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns that a module gives `re`'s functions directly."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        function = getattr(node, "func", None)
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re":
            argument = node.args[0] if isinstance(node, ast.Call) and node.args else None
            if function.attr in _METHODS and isinstance(argument, ast.Constant):
                yield re.compile(argument.value)


@pytest.fixture(scope="module")
def patterns() -> list[tuple[str, re.Pattern[Any]]]:
    found: dict[re.Pattern[Any], str] = {}
    for module in _modules():
        own = [pattern for value in vars(module).values() for pattern in _compiled(value)]
        for pattern in (*own, *_written(Path(module.__file__))):
            found.setdefault(pattern, module.__name__)
    for pattern in _compiled(dict(steering_text._rules(True))):
        found.setdefault(pattern, steering_text.__name__)
    return [(place, pattern) for pattern, place in found.items()]


def test_no_pattern_over_catalog_text_takes_more_than_linear_time(patterns: list[tuple[str, re.Pattern[Any]]]) -> None:
    assert len(patterns) > 150
    slow = [
        f"{place}: {pattern.pattern!r} takes {quotient:.0f} times as long for four times {text}"
        for place, pattern in patterns
        for quotient, text in [growth(pattern, 200)]
        if quotient > 9
    ]
    assert slow == []
