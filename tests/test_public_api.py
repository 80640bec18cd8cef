"""The surface: what `router` exports is what it lists, documented."""

import doctest
import inspect
from pathlib import Path
from typing import Any

import router


def test_all_is_sorted_and_complete() -> None:
    assert router.__all__ == sorted(router.__all__, key=lambda name: (not name.isupper(), name))
    public = {name for name, value in vars(router).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert public == set(router.__all__)


def test_everything_public_has_a_docstring() -> None:
    for name in router.__all__:
        value = getattr(router, name)
        if inspect.isclass(value):
            assert inspect.getdoc(value), name
            for member, function in inspect.getmembers(value, inspect.isfunction):
                if not member.startswith("_") and function.__module__.startswith("router"):
                    assert inspect.getdoc(function), f"{name}.{member}"


def test_the_manual_runs_as_it_stands(snapshot: Path) -> None:
    manual = (router.__doc__ or "").replace(".quartermaster/snapshots/demo", str(snapshot))
    examples = doctest.DocTestParser().get_examples(manual.replace("stripe/createRefund", "stripe/create_refund"))
    assert len(examples) >= 10
    names: dict[str, Any] = {}
    for example in examples:
        exec(example.source, names)
    assert len(names["records"]) == 5
