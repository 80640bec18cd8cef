"""How a run of the flow ends, by what its build reports."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from flows.build_catalog import _final_state
from pipeline.publish.quarantine import QuarantinedTool

_TOOL = QuarantinedTool("z/moon", "new", "hash", datetime(2026, 1, 1, tzinfo=UTC), 7, 200, 0.5)


@pytest.mark.parametrize(("held", "state"), [((), "Quarantined"), (("a gate",), "Held")])
def test_a_run_that_newly_holds_back_a_tool_alone_is_not_green(held: tuple[str, ...], state: str) -> None:
    report: Any = SimpleNamespace(held=held, newly_quarantined=(_TOOL,), degraded=(), outcome="published")
    ended = _final_state(report, None)
    assert (ended.name, ended.is_failed()) == (state, True)
    assert ("z/moon is left out" in str(ended.message)) == (state == "Quarantined")
