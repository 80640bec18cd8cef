"""The surface: what `router` exports is what it lists, documented."""

import doctest
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

import router
from tests.support.places import ROOT

LAZY = [
    ".".join(file.parent.relative_to(ROOT).parts)
    for file in sorted((ROOT / "router").rglob("__init__.py"))
    if "lazy_exports(" in file.read_text(encoding="utf-8")
]


def test_all_is_sorted_and_complete() -> None:
    assert router.__all__ == sorted(router.__all__, key=lambda name: (not name.isupper(), name))
    assert set(router.__all__) <= set(dir(router))
    public = {name: getattr(router, name) for name in dir(router) if not name.startswith("_")}
    known = {*router.__all__, "Any", "TYPE_CHECKING", "lazy_exports"}
    assert {name for name, value in public.items() if not inspect.ismodule(value)} == known


@pytest.mark.parametrize("package", LAZY)
def test_a_package_exports_lazily_what_it_lists(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'no_such_name'"):
        module.no_such_name  # noqa: B018


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
