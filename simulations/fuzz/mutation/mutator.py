"""Make an input from others: one to a few mutations of its tree, of its bytes, or of both."""

from collections.abc import Sequence
from random import Random

from simulations.fuzz.mutation.byte_level import mutate_bytes
from simulations.fuzz.mutation.forms import Form, read, write
from simulations.fuzz.mutation.tree_level import mutate_tree
from simulations.fuzz.mutation.trees import weight

MAX_INPUT = 1 << 20
_BYTES_ALONE = 0.2  # the share of inputs with a tree that are mutated as bytes
_BYTES_TOO = 0.05
_MORE = 0.45  # the chance of each further mutation


class Mutator:
    """Makes inputs of a form. Equal generators of chance make equal inputs."""

    def __init__(self, form: Form, random: Random) -> None:
        self.form = form
        self.random = random

    def mutate(self, pool: Sequence[bytes]) -> bytes:
        """Return an input made from one or two of the pool; at most 1 MiB."""
        data, other = self.random.choice(pool), self.random.choice(pool)
        if self.random.random() >= _BYTES_ALONE and (mutated := self._tree(data, other)) is not None:
            if self.random.random() >= _BYTES_TOO:
                return mutated[:MAX_INPUT]
            data = mutated
        while True:
            data = mutate_bytes(data, other, self.random)[:MAX_INPUT]
            if self.random.random() >= _MORE:
                return data

    def _tree(self, data: bytes, other: bytes) -> bytes | None:
        """Return an input whose tree was mutated; None where it has none, or would be too large."""
        try:
            tree = read(self.form, data)
            while True:
                tree = mutate_tree(tree, lambda: read(self.form, other), self.random)
                if weight(tree, MAX_INPUT) >= MAX_INPUT:  # a part may stand in it many times over
                    return None
                if self.random.random() >= _MORE:
                    return write(self.form, tree, self.random)
        except (ValueError, RecursionError):
            return None
