"""examples/inspect_catalog.ipynb: a catalog with faults, built with a model's phrases, in a notebook."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.settings import load
from tests.examples.conftest import EXAMPLES
from tests.pipeline.enrichment.model_server import ModelServer, Reply, answer, completion, row, tool_of
from tests.support.factories import TOOLS
from tests.support.rows import write_rows
from tests.support.small_encoder import vector_settings

NAME = "inspect_catalog.ipynb"
JUPYTER_EXECUTE = "from nbclient.cli import main; main()"


def with_a_link(body: dict[str, Any], count: int) -> Reply:
    """Answer as a good model does, but put a link into the phrases of one tool."""
    if tool_of(body)["name"] != "getForecast":
        return answer(body, count)
    written = row("getForecast")
    written["user_phrases"].append("see www.rain.example")
    return Reply(completion(json.dumps(written)))


@pytest.fixture
def workspace_with_faults(encoder_folder: Path, tmp_path: Path) -> Path:
    """The workspace of a catalog with a duplicate, a nameless record, and a phrase that is dropped."""
    (tmp_path / "office").mkdir()
    duplicate = {**TOOLS[-1], "id": "climate/getForecast", "provider": "climate"}
    write_rows(tmp_path / "office" / "tools.jsonl", [*TOOLS, duplicate, {"description": "It has no name."}])
    with ModelServer(with_a_link) as model:
        changed: dict[str, dict[str, Any]] = {
            "vectors": vector_settings(encoder_folder),
            "enrichment": {"base_url": model.base_url, "api_key": "sk-loopback", "contrast": False},
            "publish": {"max_rejected_share": 0.2},
        }
        build(load(tmp_path / "office", changed, environment={}), workspace=tmp_path / "workspace")
    return tmp_path / "workspace"


@pytest.mark.nightly
def test_the_notebook_shows_overview_faults_cost_and_a_plot(
    workspace_with_faults: Path, copied: Callable[[str], Path], tmp_path: Path
) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = copied(NAME)
    homes = {name: str(tmp_path / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR")}
    command = [sys.executable, "-c", JUPYTER_EXECUTE, str(notebook), "--inplace"]
    environment = {**os.environ, **homes, "QUARTERMASTER_WORKSPACE": str(workspace_with_faults)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    shown = [cell["outputs"] for cell in cells(notebook) if cell["cell_type"] == "code"]
    opened, overview, views, duplicates, neighbours, rejected, dropped, cost, builds, plot, _ = map(text, shown)
    assert "office" in opened
    assert "stripe" in overview and "openai 2" in overview  # who wrote the phrases of its two tools
    assert "worst_tools" in views
    assert "[climate/getForecast, weather/getForecast]" in duplicates
    assert neighbours.count("/") == 6  # a tool, and five near it
    assert "line 10" in rejected and "name is missing" in rejected
    assert "www.rain.example" in dropped
    assert "0.0050" in cost  # nine tools, 0.00056 US dollars each
    assert "published" in builds and "running" not in builds  # the build that wrote the snapshot
    assert "Figure" in plot and any("image/png" in output.get("data", {}) for output in shown[9])


def test_the_stored_notebook_has_no_outputs() -> None:
    stored = cells(EXAMPLES / NAME)
    assert len(stored) > 10
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in stored)


def cells(notebook: Path) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return read


def text(outputs: list[dict[str, Any]]) -> str:
    """Return what a cell printed and showed, as plain text."""
    return "".join("".join(output.get("text") or output.get("data", {}).get("text/plain", "")) for output in outputs)
