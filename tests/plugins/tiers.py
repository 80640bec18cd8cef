"""The two tiers of the suite: the gate's tests, and those that `make nightly` adds."""

from collections import Counter
from pathlib import Path

import pytest

COLLECTED = pytest.StashKey[frozenset[Path]]()  # files that yielded a test, of either tier


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--nightly`, which leaves nothing out."""
    parser.addoption("--nightly", action="store_true", help="also run the tests marked nightly")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note which files yielded a test, then deselect what is nightly unless it is asked for."""
    config.stash[COLLECTED] = frozenset(item.path for item in items)
    if config.getoption("--nightly"):
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly:
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in the last lines what could not run, and why."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"not run: {count} test{'s' if count > 1 else ''} ({reason})")
