"""Ledgers of a test: filled, held by another process, damaged."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from pipeline.ledger import LEDGER_FILE, Ledger
from pipeline.settings import LedgerSettings
from tests.support.places import ROOT

HOLD = """
import sys
from pathlib import Path
from pipeline.ledger import Ledger
from pipeline.settings import LedgerSettings
with Ledger.open(Path(sys.argv[1])) as ledger:
    run = ledger.start_run("office")
    ledger.back_up(LedgerSettings(backups=int(sys.argv[2])), run, print)
    print("open", flush=True)
    sys.stdin.read()
"""
READ = """
import duckdb, sys
with duckdb.connect(sys.argv[1] + "/ledger.duckdb", read_only=True):
    print("open", flush=True)
    sys.stdin.read()
"""


def entry(key: str = "k", **columns: Any) -> dict[str, Any]:
    """Return a paid answer under a key as a row; with a `kind`, a failure."""
    names = {"expansion_key": key, "record_hash": f"hash of {key}", "tool_id": f"tool {key}", "generator": "openai"}
    counts = {"model": "gpt", "prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 2, "cost_usd": 0.5}
    answer = {} if "kind" in columns else {"prompt_version": 1, "expansion": '{"user_phrases": ["do it"]}'}
    return {**names, **counts, **answer, **columns}


def fill(workspace: Path, *keys: str) -> None:
    """Store an answer under each key, and a vector of each, in a run that ends well."""
    with Ledger.open(workspace) as ledger:
        run = ledger.start_run("office")
        ledger.answers.put_entries(run, [entry(key) for key in keys])
        ledger.vectors.put(list(keys), np.ones((len(keys), 4), np.float32), "m")
        ledger.finish_run(run, "published", snapshot=None, message="")


def begin(workspace: Path, settings: LedgerSettings) -> None:
    """Begin a run, back the ledger up as a build does, and end as a build that is killed."""
    with Ledger.open(workspace) as ledger:
        ledger.back_up(settings, ledger.start_run("office"), lambda _: None)


def keys(file: Path) -> list[str]:
    """Return the keys of the answers in a ledger's file, or in that of a workspace."""
    path = file / LEDGER_FILE if file.is_dir() else file
    with duckdb.connect(str(path), read_only=True) as connection:
        return [key for (key,) in connection.execute("SELECT expansion_key FROM expansions ORDER BY ALL").fetchall()]


def names(workspace: Path) -> set[str]:
    """Return the names of what lies in a workspace, without the lock and the backups."""
    return {path.name for path in workspace.iterdir()} - {".lock", "backups"}


@contextmanager
def held(workspace: Path, program: str = HOLD, backups: int = 0) -> Iterator["subprocess.Popen[str]"]:
    """Have another process hold the ledger for the length of the block."""
    command = [sys.executable, "-c", program, str(workspace), str(backups)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        try:
            yield other
        finally:
            other.communicate()
