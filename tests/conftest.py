"""Fixtures that several rooms share: a small encoder, a built catalog, a router over it."""

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import certifi
import pytest
from hypothesis import settings

from router import Router
from router.user_cache import CACHE_VARIABLE
from tests.support.factories import TOOLS, expansion_row
from tests.support.object_storage import Bucket, ObjectStorage, object_storage_server
from tests.support.once import kept_folder, made_once
from tests.support.places import ROOT

pytest_plugins = ("tests.plugins.tiers", "tests.plugins.costs", "tests.plugins.changed", "tests.plugins.fixtures")

# The gate tries the same inputs each time, the night more and new ones. No deadline: a busy machine is no failure.
settings.register_profile("gate", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("nightly", derandomize=False, deadline=None, max_examples=1_000, print_blob=True)
settings.load_profile("gate")


def pytest_configure(config: pytest.Config) -> None:
    """No key, no setting and no hub of the machine reaches a test, or a process that it starts."""
    if config.getoption("--nightly") and not config.getoption("--hypothesis-profile"):
        settings.load_profile("nightly")
    is_worker = hasattr(config, "workerinput")
    for variable in list(os.environ):
        if variable.startswith(("QUARTERMASTER_", "OPENAI_", "PREFECT_")) and not (
            is_worker and variable == CACHE_VARIABLE
        ):
            del os.environ[variable]
    if not is_worker:  # workers inherit it: an encoder is exported once, until the code that exports changes
        exporting = sorted((ROOT / "router" / "encoding").rglob("*.py"))
        os.environ[CACHE_VARIABLE] = str(kept_folder(config, "encoders", exporting, version("onnxruntime")))
    # Ledgers and snapshots wait for the disk: a quarter of the gate's time. The night would fill the memory.
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 6 * 2**30
    if roomy and not config.getoption("--nightly"):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))
    # What a test allows is forgotten, and of no other worker.
    state = TemporaryDirectory(prefix="quartermaster-state-")
    config.add_cleanup(state.cleanup)
    os.environ["XDG_STATE_HOME"] = state.name
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what is in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # else what tests start would ignore it, too
    # Hugging Face reads it when it is imported.
    os.environ["HF_HUB_OFFLINE"] = "1"
    # torch takes every core, as each worker does: a build of the demo is 29 s of CPU so, and 16 with a thread each.
    os.environ["OMP_NUM_THREADS"] = "1"
    # Servers on loopback speak plain HTTP: reading the machine's certificates takes each client 50 ms.
    # obstore does not start without one, so there is one.
    certificate = Path(state.name) / "certificate.pem"
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition("-----END CERTIFICATE-----\n")
    certificate.write_text(first + end, encoding="utf-8")
    os.environ["SSL_CERT_FILE"] = str(certificate)
    os.environ["SSL_CERT_DIR"] = os.devnull


def pytest_report_header() -> str:
    """The versions that a failure may hang on."""
    names = ("tantivy", "duckdb", "onnxruntime", "sentence-transformers", "torch", "openai", "mcp")
    return ", ".join(f"{name} {version(name)}" for name in names)


# Tests of a group share a worker, and with it what takes seconds to start: torch, and a Prefect server.
GROUPS = {
    "torch": (
        "tests/pipeline/vectors/",
        "tests/quartermaster/training/",
        "tests/router/answer/test_cross_encoder.py",
    ),
    "prefect": (
        "tests/flows/test_build_catalog.py",
        "tests/flows/test_schedule.py",
        "tests/flows/test_lost_server.py",
        "tests/flows/test_run_logs.py",
        "tests/flows/test_tasks.py",
        "tests/flows/test_calling.py",
    ),
}
# Each page is a test of some seconds: any worker takes the next.
_PAGES = "tests/docs/test_code_blocks.py"
# The longest first, so that no worker is left with one of them at the end.
LONGEST = (
    *GROUPS["prefect"],
    _PAGES,
    "tests/examples/",
    *GROUPS["torch"],
    "tests/quartermaster/cli/",
    "tests/catalogs/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first; the others stay in their order."""
    items.sort(key=lambda item: next((i for i, place in enumerate(LONGEST) if item.nodeid.startswith(place)), 99))


def pytest_collection() -> None:
    """Look for no garbage while tests are collected: nearly all that this makes lives as long as they do."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was collected out of each later look for garbage, which would take a second."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let the end of the process free what it holds: libraries in C++ report the rest as leaks."""
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send the tests of a file, or of a group, to one worker: what they share is made once. Pages are on their own."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file == _PAGES:
                return nodeid
            return next((name for name, places in GROUPS.items() if file.startswith(places)), file)

    return ByFile(config, log)


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
    from tests.support.small_encoder import save

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
def workspace(catalog_folder: Path, encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of the run's one built catalog: four signals, the small encoder. To be read, or copied."""
    from pipeline.build import build
    from pipeline.settings import load
    from tests.support.small_encoder import vector_settings

    settings = load(catalog_folder, {"vectors": vector_settings(encoder_folder)}, environment={})
    return made_once(tmp_path_factory, "workspace", lambda folder: build(settings, workspace=folder))


@pytest.fixture(scope="session")
def snapshot(workspace: Path) -> Path:
    """The snapshot of `catalog_folder`. Tests that change it copy it first."""
    store = workspace / "snapshots" / "office"
    return store / (store / "CURRENT").read_text(encoding="utf-8").strip()


@pytest.fixture(scope="session")
def prefect_home(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A PREFECT_HOME whose database has its tables, which take Prefect 8 s to make. To be copied."""

    def migrate(folder: Path) -> None:
        command = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"]
        environment = {**os.environ, "PREFECT_HOME": str(folder), "DO_NOT_TRACK": "1"}
        subprocess.run(command, env=environment, check=True, capture_output=True)

    keep = kept_folder(request.config, "prefect", (), version("prefect"), version("sqlalchemy"))
    return made_once(tmp_path_factory, "prefect", migrate, keep)


@pytest.fixture(scope="session")
def router(snapshot: Path) -> Router:
    """A router over the session's snapshot."""
    return Router.open(snapshot)


@pytest.fixture(scope="session")
def object_storage() -> Iterator[ObjectStorage]:
    """An S3 server on loopback, one a worker."""
    with object_storage_server() as server:
        yield server


@pytest.fixture
def bucket(object_storage: ObjectStorage) -> Bucket:
    """An empty bucket of that server."""
    return object_storage.new_bucket()
