"""Fixtures that several rooms share: a small encoder, a built catalog, a router over it."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from router import Router
from tests.factories import TOOLS, expansion_row


def pytest_report_header() -> str:
    """The versions that a failure may hang on."""
    from importlib.metadata import version

    names = ("tantivy", "duckdb", "onnxruntime", "sentence-transformers", "torch", "openai", "mcp")
    return ", ".join(f"{name} {version(name)}" for name in names)


# The longest first, so that no worker is left with them alone at the end. Flows share one Prefect server.
SLOW = ("tests/flows/", "tests/test_readme.py", "tests/test_cli.py", "tests/vectors/", "tests/catalogs/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slow tests first; the others stay in their order."""
    items.sort(key=lambda item: next((i for i, place in enumerate(SLOW) if place in item.nodeid), len(SLOW)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a file, and all of the flows', go to one worker: what they share is made once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return SLOW[0] if nodeid.startswith(SLOW[0]) else nodeid.partition("::")[0]

    return ByFile(config, log)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No key, no setting and no hub of the machine reaches a test."""
    for variable in list(os.environ):
        if variable.startswith(("QUARTERMASTER_", "OPENAI_")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    yield


@pytest.fixture
def write_json(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Write a value as a JSON file under the test's folder and return its path."""

    def write(name: str, value: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
        return path

    return write


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[[str, list[Any]], Path]:
    """Write rows as JSONL under the test's folder; a row that is a text is written as it stands."""

    def write(name: str, rows: list[Any]) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence encoder of bge's shape (BERT, CLS pooling), two layers of 32, random weights, no query prefix."""
    from tests.small_encoder import save

    return save(tmp_path_factory.mktemp("encoder") / "small-random")


@pytest.fixture(scope="session")
def catalog_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of eight tools with expansions, in the benchmark's format."""
    folder = tmp_path_factory.mktemp("catalogs") / "office"
    folder.mkdir()
    (folder / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in TOOLS), encoding="utf-8")
    rows = (expansion_row(tool) for tool in TOOLS)
    (folder / "expansions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of the session's one built catalog. Tests that change a snapshot copy it first."""
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="session")
def snapshot(catalog_folder: Path, encoder_folder: Path, workspace: Path) -> Path:
    """The snapshot of `catalog_folder`: four signals, the small encoder."""
    from pipeline.build import build
    from pipeline.settings import load

    settings = load(catalog_folder, {"vectors": {"encoder": str(encoder_folder)}}, environment={})
    return build(settings, workspace=workspace).snapshot


@pytest.fixture(scope="session")
def router(snapshot: Path) -> Router:
    """A router over the session's snapshot."""
    return Router.open(snapshot)
