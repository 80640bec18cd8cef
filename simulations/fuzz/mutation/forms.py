"""The forms that inputs have: bytes to a tree and back."""

import json
import tomllib
from enum import StrEnum
from random import Random

from simulations.fuzz.mutation.trees import Literal, Members, Tree, from_value, read_json


class Form(StrEnum):
    """How a target's inputs are written. RAW has no tree: bytes alone are mutated."""

    JSON = "json"
    LINES = "jsonl"
    YAML = "yaml"
    TOML = "toml"
    RAW = "raw"


def read(form: Form, data: bytes) -> Tree:
    """Return the tree of an input. Raises ValueError or RecursionError where it has none."""
    if form is Form.RAW:
        raise ValueError("bytes alone")
    if form is Form.TOML:
        return from_value(tomllib.loads(data.decode()))
    if form is Form.LINES:
        return [_line(line) for line in data.split(b"\n") if line.strip()]
    return read_json(data)  # also YAML: a loader of all of it would be open to the inputs that are looked for


def write(form: Form, tree: Tree, random: Random) -> bytes:
    """Return the bytes of a tree. Those of YAML are in flow or in block style, as chance has it."""
    if form is Form.LINES:
        rows = tree if isinstance(tree, list) and not isinstance(tree, Members) else [tree]
        text = "\n".join(_json(row) for row in rows) + "\n"
    elif form is Form.TOML:
        text = _toml_document(tree)
    elif form is Form.YAML and random.random() < 0.5:
        text = _block(tree, 0) + "\n"
    else:
        text = _json(tree)
    return text.encode("utf-8", "surrogatepass")


def _line(line: bytes) -> Tree:
    try:
        return read_json(line)
    except (ValueError, RecursionError):
        return Literal(line.decode("utf-8", "replace"))


def _json(tree: Tree) -> str:
    if isinstance(tree, Literal):
        return str(tree)
    if isinstance(tree, Members):
        return "{" + ", ".join(f"{json.dumps(key)}: {_json(value)}" for key, value in tree) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(_json, tree)) + "]"
    return json.dumps(tree)


def _block(tree: Tree, level: int) -> str:
    """Write YAML in block style to four levels, in flow style below."""
    if level >= 4 or not isinstance(tree, list) or not tree:
        return f" {_json(tree)}"
    begin = "\n" + "  " * level
    if isinstance(tree, Members):
        return "".join(f"{begin}{_yaml_key(key)}:{_block(value, level + 1)}" for key, value in tree)
    return "".join(f"{begin}-{_block(value, level + 1)}" for value in tree)


def _yaml_key(key: str) -> str:
    return key if key == "<<" or (key.isascii() and key.isalnum()) else json.dumps(key)


def _toml_document(tree: Tree) -> str:
    if not isinstance(tree, Members):
        return _toml(tree)
    lines = [f"{json.dumps(key)} = {_toml(value)}" for key, value in tree if not _is_table(value)]
    for key, value in tree:
        if _is_table(value):
            lines += [f"[{json.dumps(key)}]", *(f"{json.dumps(name)} = {_toml(item)}" for name, item in value)]
    return "\n".join(lines) + "\n"


def _is_table(tree: Tree) -> bool:
    return isinstance(tree, Members)


def _toml(tree: Tree) -> str:
    if tree is None:
        return '""'
    if isinstance(tree, Members):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(value)}" for key, value in tree) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(_toml, tree)) + "]"
    return _json(tree)
