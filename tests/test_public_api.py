"""The surface: what `router` exports is what it lists, documented."""

import inspect

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
