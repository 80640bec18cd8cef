"""One mutation tried: applied in a copy of the working tree, and the tests run that must notice."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.mutation import Mutation, source
from tests.support.places import ROOT

LIMIT = 600.0  # seconds for one mutation: a fault that hangs is noticed by the time-out of each test
_SUMMARY = re.compile(r"(\d+) (failed|errors?|passed)")


@dataclass(frozen=True)
class Outcome:
    """What the tests said of a mutation."""

    mutation: Mutation
    caught_by: int  # tests that failed, or could not run
    passed: int

    @property
    def caught(self) -> bool:
        """Whether any test noticed."""
        return self.caught_by > 0


def copy_tree(folder: Path) -> Path:
    """Copy what the working tree has, less what git ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def run_tests(tree: Path, tests: tuple[str, ...], selection: str = "") -> tuple[int, int]:
    """Run the gated tests; return how many failed and how many passed. Raise RuntimeError where none could run."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "--tb=no", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each run would compile everything
    try:
        ended = subprocess.run(
            [*command, "-k", selection], cwd=tree, env=environment, capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return 1, 0
    counts = {word: int(number) for number, word in _SUMMARY.findall(ended.stdout.rstrip().rpartition("\n")[2])}
    if not counts:
        if ended.returncode < 0:  # a signal ended it
            return 1, 0
        raise RuntimeError(f"no test ran: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0), counts.get("passed", 0)


def rewrite(place: Path, text: str) -> None:
    """Write a file, and drop its bytecode: a mutation of the same length and second would go unseen."""
    place.write_text(text, encoding="utf-8")
    for compiled in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
        compiled.unlink()


def attempt(mutation: Mutation, tree: Path, selection: str = "") -> Outcome:
    """Apply the mutation in the copy, run its tests, and take it back."""
    place = tree / mutation.file
    whole = source(mutation, tree)
    rewrite(place, mutation.applied(whole))
    try:
        return Outcome(mutation, *run_tests(tree, mutation.tests, selection))
    finally:
        rewrite(place, whole)
