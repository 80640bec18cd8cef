"""Fixtures of the command line: a way to call it in an empty folder, where builds are quick."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.command_line import Run, called


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    """Commands that build neither calibrate nor copy the ledger: that takes a build of ten tools twice the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUARTERMASTER_TUNING__CALIBRATE", "false")
        patch.setenv("QUARTERMASTER_LEDGER__BACKUPS", "0")
        yield


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Call `quartermaster` in an empty folder."""
    return partial(called, tmp_path)
