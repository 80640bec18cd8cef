"""Mapped stages in another process: plain data goes there and back, and the snapshot is the same byte for byte."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.execution import Arguments, Batch, SharedStorage, T
from pipeline.settings import load
from router import Manifest, Router
from router.contract import CATALOG_DB
from tests.support.factories import TOOLS, expansion_row
from tests.support.rows import write_rows

pytestmark = pytest.mark.nightly  # a process of its own; flows run stages as tasks in the gate


def call(work: bytes) -> bytes:
    """Call a pickled function with its pickled arguments."""
    function, arguments = pickle.loads(work)
    return pickle.dumps(function(*arguments))


class OtherProcess:
    """Runs the batches of mapped stages in a process of a pool. They end in the reverse of their order."""

    batch_size: int | None = None
    threads: int | None = 1

    def __init__(self, pool: ProcessPoolExecutor, storage: Path | None = None) -> None:
        self.storage = SharedStorage(storage) if storage else None
        self.pool = pool
        self.ran: set[str] = set()

    def run(self, stage_name: str, function: Callable[[*Arguments], T], *arguments: *Arguments, label: str = "") -> T:
        return function(*arguments)

    def map(
        self,
        stage_name: str,
        function: Callable[[Batch, *Arguments], T],
        batches: Iterable[tuple[str, Batch]],
        *shared: *Arguments,
    ) -> Iterator[tuple[Batch, T]]:
        self.ran.add(stage_name)
        for _, batch in reversed(list(batches)):
            work = pickle.dumps((function, (batch, *shared)))
            yield batch, pickle.loads(self.pool.submit(call, work).result())


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """A catalog of 48 tools with 3 phrases each: enough to learn an adapter, and to calibrate."""
    folder = tmp_path / "offices"
    folder.mkdir()
    tools, rows = [], []
    for number, place in enumerate(("london", "paris", "rome", "oslo", "cairo", "lima")):
        for tool in TOOLS:
            provider = f"{tool['provider']}{number}"
            copy = {**tool, "id": f"{provider}/{tool['name']}", "provider": provider}
            tools.append({**copy, "description": f"{tool['description']} For the office of {place}."})
            row = expansion_row(tool)
            phrases = [f"{phrase} in {place}" for phrase in row["user_phrases"]]
            rows.append({**row, "id": copy["id"], "user_phrases": [*phrases, f"{place} needs {tool['name']}"]})
    write_rows(folder / "tools.jsonl", tools)
    write_rows(folder / "expansions.jsonl", rows)
    return folder


def files(snapshot: Path) -> dict[str, str]:
    """The checksums of a snapshot's files, without that of the database, which has times in it."""
    return {name: digest for name, digest in Manifest.read(snapshot).files.items() if name != CATALOG_DB}


def test_stages_in_another_process_build_the_same_snapshot(
    catalog: Path,
    encoder_folder: Path,
    tmp_path: Path,
    pool: ProcessPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = load(catalog, {"vectors": {"encoder": str(encoder_folder)}}, environment={})
    for module, constant in (("vectors.embedding", "_TEXTS_A_STAGE"), ("build.expanding", "_TOOLS_A_PART")):
        monkeypatch.setattr(f"pipeline.{module}.{constant}", 20)  # several batches
    (storage := tmp_path / "storage").mkdir()
    execution = OtherProcess(pool, storage)
    direct = build(settings, workspace=tmp_path / "direct")
    elsewhere = build(settings, workspace=tmp_path / "elsewhere", execution=execution)
    assert execution.ran == {"project", "embed"}
    old, new = Router.open(direct.snapshot), Router.open(elsewhere.snapshot)
    assert old.manifest.content_hash == new.manifest.content_hash
    assert "vectors.npy" in old.manifest.files and files(direct.snapshot) == files(elsewhere.snapshot)
    for request in ("undo a payment in rome", "which channels are there", "will it rain in oslo"):
        assert old.route(request, explain=True).tools == new.route(request, explain=True).tools
    assert (direct.outcome, direct.counts) == (elsewhere.outcome, elsewhere.counts)
