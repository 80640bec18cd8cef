"""Who holds the ledger: another build or any program that reads it is waited for, and named."""

import os
import signal
import threading
from pathlib import Path

import pytest

from pipeline.errors import RunAborted
from pipeline.ledger import Ledger
from tests.pipeline.ledger.ledgers import LOCK, READ, held, keys


def test_another_build_is_named_and_once_it_is_killed_its_lock_is_free_and_its_run_is_closed(workspace: Path) -> None:
    with held(workspace) as other:
        with pytest.raises(RunAborted) as refused:
            Ledger.open(workspace)
        other.send_signal(signal.SIGKILL)
        other.wait()
        with Ledger.open(workspace) as ledger:
            assert ledger.close_killed_runs() == [2]
            assert ledger.runs("office")["outcome"].to_pylist() == ["published", "killed"]
    said = str(refused.value)
    assert "in use by another build: wait for it to end" in said
    assert f"run 2 of the catalog office, pid {other.pid}, on {os.uname().nodename}, since 20" in said
    assert keys(workspace) == ["a", "b"]
    assert (workspace / ".lock").read_bytes() == b""  # it names nobody once the ledger is closed


def test_a_program_that_reads_the_ledger_is_named(workspace: Path) -> None:
    with held(workspace, READ) as other, pytest.raises(RunAborted) as refused:
        Ledger.open(workspace)
    assert "in use by another program" in str(refused.value)
    assert f"pid {other.pid}, on {os.uname().nodename}, since 20" in str(refused.value)


@pytest.mark.parametrize("program", ["build", "reader"])
def test_it_is_waited_for_and_that_is_told_once(program: str, workspace: Path) -> None:
    told: list[str] = []
    with held(workspace, READ if program == "reader" else LOCK) as other:

        def tell(message: str) -> None:
            told.append(message)
            threading.Timer(0.02, other.stdin.close).start()  # type: ignore[union-attr]

        with Ledger.open(workspace, 30, tell=tell) as ledger:
            assert ledger.expansions(["a"])
        other.stdin = None
    assert len(told) == 1
    assert told[0].startswith("waiting up to 30 s for the ledger, which is held by ")
    assert f"pid {other.pid}" in told[0]
