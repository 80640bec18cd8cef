"""How a run of the flow ends, by what its build reports."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows.build_catalog import _final_state
from pipeline.ledger import QuarantinedTool

_TOOL = QuarantinedTool("z/moon", "new", "hash", datetime(2026, 1, 1, tzinfo=UTC), 7, 200, 0.5)


@pytest.mark.parametrize(
    ("report", "unmeasured", "state", "told"),
    [
        ({"held": ("a gate",), "newly_quarantined": (_TOOL,), "degraded": ("x",)}, "y", "Held", "a gate"),
        ({"newly_quarantined": (_TOOL,), "degraded": ("x",)}, None, "Quarantined", "z/moon is left out"),
        ({"degraded": ("no key",)}, "no file", "Degraded", "no key; the snapshot could not be measured: no file"),
        ({}, "no file", "Unmeasured", "no file"),
        ({}, None, "Completed", "published: 2026"),
    ],
)
def test_only_a_build_that_lacks_nothing_is_completed_and_what_is_worst_is_told(
    report: dict[str, Any], unmeasured: str | None, state: str, told: str
) -> None:
    whole = {"held": (), "newly_quarantined": (), "degraded": (), "outcome": "published", "snapshot": Path("2026")}
    built: Any = SimpleNamespace(**{**whole, **report})
    ended = _final_state(built, unmeasured)
    assert (ended.name, ended.is_failed()) == (state, state != "Completed")
    assert told in str(ended.message)
