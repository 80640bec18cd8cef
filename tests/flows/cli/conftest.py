"""Fixtures of the command line: a way to call it in an empty folder."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.support.command_line import Done, called


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Done]:
    """Call `quartermaster` in an empty folder."""
    return partial(called, tmp_path)
