"""Processes that start in a tenth of a second: forked from one that has imported what they need."""

import multiprocessing
import os
from collections.abc import Callable, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

_PRELOADED = ["quartermaster.cli.main", "quartermaster.cli.commands.build", "pipeline.build", "router", "obstore.store"]


def start(target: Callable[..., object], *arguments: Any) -> BaseProcess:
    """Start a function of a module in a process of its own, which ends when this one does."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    process = context.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def pipe() -> tuple[Any, Any]:
    """Return the two ends of a two-way pipe; the second may be handed to a process."""
    return multiprocessing.get_context("forkserver").Pipe()


def settle(folder: Path, variables: Mapping[str, str]) -> None:
    """Give the process that calls it its folder and its variables; those of the machine go."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "OPENAI_", "QUARTERMASTER_", "PREFECT_")):
            del os.environ[name]
    os.environ.update(variables)
    os.chdir(folder)
