"""`--changed`: the tests of the rooms that the working tree changes, then those of the rooms that import them.

Tests of a changed room all run. Those of rooms that import it run from the cheapest on, as their last run told, until
they reach a bound; the summary says how many were left to `make test`.
"""

import subprocess
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.costs import CACHED
from tests.support.imports import PACKAGES, imported, imports
from tests.support.places import ROOT

DEPENDENTS_BOUND = 60.0  # seconds of CPU
UNKNOWN_COST = 0.1  # of a test that never ran here
ALWAYS = "test_layers.py"
ROOMS = pytest.StashKey[tuple[set[str], set[str]]]()
LEFT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--changed`."""
    parser.addoption("--changed", action="store_true", help="only tests of rooms that differ from HEAD, and near them")


def changed_files() -> list[str]:
    """Paths, from the repository's root, that differ from the last commit or are new."""
    commands = (["diff", "--name-only", "HEAD"], ["ls-files", "--others", "--exclude-standard"])
    return [
        name
        for command in commands
        for name in subprocess.run(
            ["git", *command], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.splitlines()
    ]


def room_of(path: str) -> str:
    """The room of a file, or of its tests: `router/answer`, `router` for loose modules, `docs`, or "" for the root."""
    folders = Path(path).parts[:-1]
    if folders[:1] == ("tests",):
        folders = folders[1:]
    return "/".join(folders[: 2 if folders and folders[0] in PACKAGES else 1])


def rooms_to_test(changed: list[str]) -> tuple[set[str], set[str]]:
    """Return the changed rooms, and the other rooms that import a changed module."""
    own = {room_of(path) for path in changed}
    names = {Path(path).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__") for path in changed}
    near = {room_of(f"{importer.replace('.', '/')}.py") for importer, other in imports() if other in names}
    if any(name.startswith("tests.support.") for name in names):
        tests = [path for path in (ROOT / "tests").rglob("*.py") if imported(path) & names]
        near |= {room_of(path.relative_to(ROOT).as_posix()) for path in tests}
    return own, near - own


def pytest_configure(config: pytest.Config) -> None:
    """Find the rooms once."""
    if config.getoption("--changed"):
        config.stash[ROOMS] = rooms_to_test(changed_files())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of rooms that the change does not touch."""
    if not config.getoption("--changed") or not collection_path.match("test_*.py") or collection_path.name == ALWAYS:
        return None
    own, near = config.stash[ROOMS]
    return room_of(collection_path.relative_to(ROOT).as_posix()) not in own | near or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the dearest of the tests that the change only might touch."""
    if not config.getoption("--changed"):
        return
    cache = getattr(config, "cache", None)
    costs = cache.get(CACHED, {}) if cache else {}
    near = config.stash[ROOMS][1]
    dependents = [item for item in items if room_of(item.nodeid.partition("::")[0]) in near]
    dependents.sort(key=lambda item: (costs.get(item.nodeid, UNKNOWN_COST), item.nodeid))
    spent = accumulate(costs.get(item.nodeid, UNKNOWN_COST) for item in dependents)
    left = {item for item, total in zip(dependents, spent, strict=True) if total > DEPENDENTS_BOUND}
    if hasattr(config, "workeroutput"):
        config.workeroutput["left"] = len(left)
    config.hook.pytest_deselected(items=[*left])
    items[:] = [item for item in items if item not in left]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over how many tests a worker left out: each leaves out the same."""
    node.config.stash[LEFT] = getattr(node, "workeroutput", {}).get("left", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out."""
    if left := config.stash.get(LEFT, 0):
        terminalreporter.write_line(f"left to make test: {left} dearer tests of rooms that import what changed")
