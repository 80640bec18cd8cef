"""Trees: the values of JSON, with objects as lists of members, so that a key can stand twice."""

import json
from collections.abc import Iterator
from typing import Any

Tree = Any  # None, bool, int, float, str, Literal, list[Tree] or Members
_MOST_SLOTS = 2_000


class Members(list[tuple[str, Tree]]):
    """An object as its members, in order; keys may repeat."""


class Literal(str):
    """A token that is written as it stands, whatever the form: `NaN`, `*anchor`, brackets without end."""

    __slots__ = ()


Slot = tuple[list[Any], int]


def read_json(text: str | bytes) -> Tree:
    """Return the tree of a JSON text. Raises ValueError or RecursionError where it is none."""
    return json.loads(text, object_pairs_hook=Members)


def from_value(value: Any) -> Tree:
    """Return the tree of a value of dicts and lists."""
    if isinstance(value, dict):
        return Members((str(key), from_value(item)) for key, item in value.items())
    return [from_value(item) for item in value] if isinstance(value, list) else value


def slots(tree: list[Any]) -> list[Slot]:
    """Return the places of a tree's nodes, the root aside; at most 2,000, the first by breadth."""
    return [slot for slot, _ in zip(_slots(tree), range(_MOST_SLOTS), strict=False)]


def _slots(tree: list[Any]) -> Iterator[Slot]:
    waiting = [tree]
    for holder in waiting:
        for index in range(len(holder)):
            yield holder, index
            if isinstance(child := node(holder, index), list):
                waiting.append(child)


def node(holder: list[Any], index: int) -> Tree:
    """Return the node at a place."""
    return holder[index][1] if isinstance(holder, Members) else holder[index]


def weight(tree: Tree, most: int) -> int:
    """Return about how many bytes a tree is written in; at least `most` where it is more."""
    total, waiting = 0, [tree]
    while waiting and total < most:
        item = waiting.pop()
        total += len(item) + 2 if isinstance(item, str | list) else 4
        if isinstance(item, list):
            waiting.extend(node(item, index) for index in range(len(item)))
    return total


def put(holder: list[Any], index: int, tree: Tree) -> None:
    """Put another node at a place, under the same key."""
    holder[index] = (holder[index][0], tree) if isinstance(holder, Members) else tree
