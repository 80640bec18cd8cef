"""Examples of packages that do not install beside the tests' own: run by the Python of another environment."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.settings import load
from tests.support.places import ROOT


def python_with(module: str, variable: str) -> str:
    """Return a Python that has a module: the one that a variable names, else this one. Skip the test without either."""
    if named := os.environ.get(variable):
        return named
    pytest.importorskip(module, reason=f"{module} is not installed here, and {variable} names no Python that has it")
    return sys.executable


def run_example(python: str, name: str, *arguments: str, folder: Path, **variables: str) -> str:
    """Return what an example prints, run by a Python in a folder, without the variables of the user.

    It must end well within two minutes.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"PATH": path, "HOME": str(folder), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", **variables}
    done = subprocess.run(
        [python, str(ROOT / "examples" / name), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout


def serving_notes(folder: Path) -> str:
    """Build the catalog of examples/mcp_client in a folder. Return the command that serves it over MCP."""
    catalog = shutil.copytree(ROOT / "examples" / "mcp_client", folder / "mcp_client")
    build(load(catalog), workspace=folder / "workspace")
    command = [sys.executable, "-m", "quartermaster", "serve", "mcp", "--workspace", str(folder / "workspace")]
    return shlex.join([*command, "--catalog", "notes", "--catalog-folder", str(catalog), "--allow-commands"])
