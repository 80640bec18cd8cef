"""Who holds the ledger: another build, or any program that reads it, is waited for and named."""

import signal
import threading
from pathlib import Path

import pytest

from pipeline.errors import RunAborted
from pipeline.ledger import Ledger
from tests.pipeline.ledger.ledgers import HOLD, READ, held, keys


def test_another_build_is_named_and_once_it_is_killed_its_lock_is_free_and_its_run_is_closed(workspace: Path) -> None:
    with held(workspace) as other:
        with pytest.raises(RunAborted, match=rf"in use by another build \(.*, pid {other.pid}\): wait for it to end"):
            Ledger.open(workspace)
        other.send_signal(signal.SIGKILL)
        other.wait()
        with Ledger.open(workspace) as ledger:
            assert ledger.close_killed_runs() == [2]
            assert ledger.history.runs("office")["outcome"].to_pylist() == ["published", "killed"]
    assert keys(workspace) == ["a", "b"]


def test_a_ledger_that_this_process_has_open_is_in_use(workspace: Path) -> None:
    with Ledger.open(workspace), pytest.raises(RunAborted, match="in use by another build"):
        Ledger.open(workspace)


def test_a_program_that_reads_the_ledger_is_named(workspace: Path) -> None:
    with held(workspace, READ) as other, pytest.raises(RunAborted) as refused:
        Ledger.open(workspace)
    assert "in use by another program (" in str(refused.value) and f", pid {other.pid})" in str(refused.value)


@pytest.mark.parametrize("program", [HOLD, READ], ids=["build", "reader"])
def test_it_is_waited_for_and_that_is_told_once(program: str, workspace: Path) -> None:
    told: list[str] = []
    with held(workspace, program) as other:

        def tell(message: str) -> None:
            told.append(message)
            threading.Timer(0.02, other.stdin.close).start()  # type: ignore[union-attr]

        with Ledger.open(workspace, 30, tell=tell) as ledger:
            assert ledger.answers.expansions(["a"])
        other.stdin = None
    assert len(told) == 1
    assert told[0].startswith("waiting up to 30 s for the ledger, which is in use by ")
    assert f"pid {other.pid}" in told[0]
