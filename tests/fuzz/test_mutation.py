"""The mutator: it makes what is wanted of it, and the same each time."""

import json
from random import Random

import pytest

from tests.fuzz.mutation import Form, Mutator
from tests.fuzz.mutation.forms import read, write
from tests.fuzz.mutation.mutator import MAX_INPUT
from tests.fuzz.mutation.trees import Members

_SEED = b'{"name": "a", "parameters": {"properties": {"x": {"type": "string", "enum": ["b", "c"]}}}, "n": 3}'


def _made(form: Form, count: int, seed: int = 1) -> list[bytes]:
    mutator = Mutator(form, Random(seed))
    return [mutator.mutate([_SEED]) for _ in range(count)]


@pytest.mark.parametrize("form", Form)
def test_the_same_chance_makes_the_same_inputs(form: Form) -> None:
    assert _made(form, 30) == _made(form, 30)
    assert _made(form, 30) != _made(form, 30, seed=2)


def test_most_mutated_trees_are_still_json_so_that_readers_are_reached() -> None:
    whole = 0
    for data in _made(Form.JSON, 300):
        try:
            json.loads(data)
        except (ValueError, RecursionError):
            continue
        whole += 1
    assert whole > 150


def test_among_a_few_thousand_inputs_are_the_known_troublemakers() -> None:
    inputs = _made(Form.JSON, 2_000)
    for trouble in (b"NaN", b"\\ud800", b"[" * 900, b"9" * 400, b"\\u0000", b"a" * 400):
        assert any(trouble in data for data in inputs), trouble
    assert max(map(len, inputs)) <= MAX_INPUT


def test_a_tree_keeps_keys_that_stand_twice() -> None:
    tree = read(Form.JSON, b'{"a": 1, "a": [2, {"b": null}]}')
    assert tree == Members([("a", 1), ("a", [2, Members([("b", None)])])])
    assert write(Form.JSON, tree, Random(1)) == b'{"a": 1, "a": [2, {"b": null}]}'


def test_a_toml_tree_is_read_back_from_what_is_written_of_it() -> None:
    tree = read(Form.TOML, b'a = [1, "b"]\n[c]\nd = {e = true}\n')
    assert read(Form.TOML, write(Form.TOML, tree, Random(1))) == tree
