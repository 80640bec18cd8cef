"""Mapped stages in another process: plain data goes there and back, and the snapshot is the same byte for byte."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.execution import Arguments, Batch, DirectExecution, SharedStorage, T
from pipeline.settings import load
from router import Manifest
from router.contract import CATALOG_DB
from tests.support.small_encoder import vector_settings

pytestmark = pytest.mark.nightly  # a process of its own; flows run stages on a worker in the gate


def call(work: bytes) -> bytes:
    """Call a pickled function with its pickled arguments."""
    function, arguments = pickle.loads(work)
    return pickle.dumps(function(*arguments))


class OtherProcess(DirectExecution):
    """Runs the batches of mapped stages in a process of a pool. They end in the reverse of their order."""

    threads: int | None = 1

    def __init__(self, pool: ProcessPoolExecutor, storage: Path) -> None:
        self.storage = SharedStorage(storage)
        self.pool = pool
        self.ran: set[str] = set()

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


def test_stages_in_another_process_build_the_same_snapshot(
    catalog_folder: Path, encoder_folder: Path, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load(catalog_folder, {"vectors": vector_settings(encoder_folder)}, environment={})
    for module, constant in (("vectors.embedding", "_TEXTS_A_STAGE"), ("build.expanding", "_TOOLS_A_PART")):
        monkeypatch.setattr(f"pipeline.{module}.{constant}", 3)  # several batches
    (storage := tmp_path / "storage").mkdir()
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        execution = OtherProcess(pool, storage)
        elsewhere = build(settings, workspace=tmp_path / "elsewhere", execution=execution)
    assert execution.ran == {"project", "embed"}
    old, new = Manifest.read(snapshot), Manifest.read(elsewhere.snapshot)
    assert old.content_hash == new.content_hash and "vectors.npy" in old.files
    assert {**old.files, CATALOG_DB: ""} == {**new.files, CATALOG_DB: ""}  # the database has times in it
