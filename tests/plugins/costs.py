"""What the suite costs: CPU by room, child processes included, with bounds that a busy machine does not move."""

import os
from collections import Counter
from collections.abc import Generator

import pytest

WARNED_TEST = 2.0  # seconds of CPU
WARNED_SUITE, FAILED_SUITE = 420.0, 600.0  # of the tests themselves: collecting them depends on what is compiled
CACHED = "quartermaster/costs"  # seconds by node id, of each test's last run
SHOWN_ROOMS, SHOWN_TESTS = 12, 10

Costs = dict[str, float]


def cpu_seconds() -> float:
    """CPU of this process and of its children that have ended."""
    return sum(os.times()[:4])


class CostRecorder:
    """Adds to each test's last report what it cost."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note where the test begins."""
        self.begun = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        """Hand over the figure once all is torn down."""
        try:
            yield
        finally:
            item.user_properties.append(("cpu", round(cpu_seconds() - self.begun, 3)))


class CostReport:
    """Gathers the figures of all workers; prints, keeps and bounds them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.costs: Costs = {}
        self.total = 0.0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the figure of a test that has ended."""
        if report.when == "teardown":
            self.costs[report.nodeid] = next(
                (float(str(v)) for name, v in report.user_properties if name == "cpu"), 0.0
            )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep the figures, and fail a gate that has grown past all patience."""
        self.total = sum(self.costs.values())
        if self.costs and (cache := getattr(self.config, "cache", None)):  # none under -p no:cacheprovider
            cache.set(CACHED, {**cache.get(CACHED, {}), **self.costs})
        if self.total > FAILED_SUITE and not self.config.getoption("--nightly") and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print CPU by room, the tests above the bound of one test, and the suite's verdict."""
        rooms: Counter[str] = Counter()
        for nodeid, seconds in self.costs.items():
            rooms[nodeid.partition("::")[0].rpartition("/")[0]] += seconds  # type: ignore[assignment]
        if self.total < WARNED_TEST:
            return
        terminalreporter.write_sep("-", f"{cpu_seconds():.0f} s of CPU, {self.total:.0f} of them in tests")
        for place, seconds in rooms.most_common(SHOWN_ROOMS):
            terminalreporter.write_line(f"{seconds:7.1f} s  {place}")
        if self.config.getoption("--nightly"):
            return
        dear = sorted(
            ((seconds, nodeid) for nodeid, seconds in self.costs.items() if seconds > WARNED_TEST), reverse=True
        )
        for seconds, nodeid in dear[:SHOWN_TESTS]:
            terminalreporter.write_line(f"warning: {seconds:.1f} s of CPU in one test: {nodeid}")
        if len(dear) > SHOWN_TESTS:
            terminalreporter.write_line(f"warning: and {len(dear) - SHOWN_TESTS} more above {WARNED_TEST:.0f} s")
        if self.total > FAILED_SUITE:
            terminalreporter.write_line(f"failed: the suite took more than {FAILED_SUITE:.0f} s of CPU", red=True)
        elif self.total > WARNED_SUITE:
            terminalreporter.write_line(f"warning: the suite took more than {WARNED_SUITE:.0f} s of CPU", yellow=True)


def pytest_configure(config: pytest.Config) -> None:
    """Record where tests run; report where their results arrive."""
    config.pluginmanager.register(CostRecorder(), "cost-recorder")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(CostReport(config), "cost-report")
