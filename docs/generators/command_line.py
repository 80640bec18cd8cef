"""The reference of the command line, from the commands that typer registered."""

import inspect
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import typer.main

from docs.generators.markdown import code, linked, table
from quartermaster.cli.main import app

_NAME = "quartermaster"
_VALUES = {int: "whole number", float: "number", Path: "path", bool: ""}


def page() -> str:
    """Return the page: the program, then each command with its arguments and options."""
    group = typer.main.get_command(app)
    parts = ["# Command line", _help(group)]
    for name, command in _commands(group):
        parts += [f"## `{name}`", _help(command)]
        if rows := _rows(command):
            parts.append(table(["argument or option", "value", "default", "meaning"], rows))
    return "\n\n".join(parts) + "\n"


def _commands(group: Any, prefix: str = _NAME) -> Iterator[tuple[str, Any]]:
    """Yield the commands below a group with the words that call them."""
    for name, command in getattr(group, "commands", {}).items():
        yield f"{prefix} {name}", command
        yield from _commands(command, f"{prefix} {name}")


def _help(command: Any) -> str:
    """Return a command's help. Paragraphs after a \\b, which a terminal shows line by line, become text blocks."""
    return "\n\n".join(
        f"```text\n{inspect.cleandoc(part.removeprefix(chr(8)).strip(chr(10)))}\n```"
        if part.startswith("\b")
        else _escaped(part)
        for part in inspect.cleandoc(command.help or "").split("\n\n")
    )


def _rows(command: Any) -> list[list[str]]:
    hints = _hints(command.callback)
    return [_row(parameter, hints.get(parameter.name)) for parameter in command.params if parameter.name != "help"]


def _hints(callback: Callable[..., object] | None) -> dict[str, Any]:
    return get_type_hints(inspect.unwrap(callback)) if callback else {}


def _row(parameter: Any, hint: Any) -> list[str]:
    is_option = parameter.opts[0].startswith("-")
    names = (
        ", ".join(map(code, [*parameter.opts, *parameter.secondary_opts]))
        if is_option
        else code(parameter.name.upper())
    )
    about = parameter.help or ""
    if parameter.envvar:
        about += f" Also set by `{parameter.envvar}`."
    default = "required" if parameter.required else _default(parameter.default)
    return [names, _value(hint), default, _escaped(about)]


def _value(hint: Any) -> str:
    """Return what a parameter takes, in a word."""
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_value(part) for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is list:
        return f"{_value(get_args(hint)[0])}, may be repeated"
    return _VALUES.get(hint, "text")


def _default(value: object) -> str:
    return "" if value is None or isinstance(value, bool) or callable(value) or value == [] else code(value)


def _escaped(text: str) -> str:
    return linked(re.sub(r"([<>*])", r"\\\1", text))
