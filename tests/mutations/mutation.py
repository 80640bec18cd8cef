"""The lists of mutations: a TOML file a room, each mutation a text to find once in a file, and its replacement."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import ROOT

LISTS = Path(__file__).parent / "lists"


@dataclass(frozen=True)
class Mutation:
    """A small fault, and the tests that must notice it."""

    file: str
    find: str
    replace: str
    breaks: str  # the promise that it breaks
    tests: tuple[str, ...]

    def applied(self, text: str) -> str:
        """Return a file's text with the fault. Raise ValueError unless its place is there exactly once."""
        if (count := text.count(self.find)) != 1:
            raise ValueError(f"{self.file} has {count} places like {self.find!r}, not one")
        if self.find == self.replace:
            raise ValueError(f"{self.file}: {self.find!r} is replaced by itself")
        return text.replace(self.find, self.replace)


def names() -> list[str]:
    """Names of the lists."""
    return sorted(path.stem for path in LISTS.glob("*.toml"))


def read(name: str) -> list[Mutation]:
    """Read a list. Its `tests` hold for each mutation that names no others."""
    table = tomllib.loads((LISTS / f"{name}.toml").read_text(encoding="utf-8"))
    return [
        Mutation(row["file"], row["find"], row["replace"], row["breaks"], tuple(row.get("tests", table["tests"])))
        for row in table["mutation"]
    ]


def source(mutation: Mutation, root: Path = ROOT) -> str:
    """Read the file that a mutation changes."""
    return (root / mutation.file).read_text(encoding="utf-8")
