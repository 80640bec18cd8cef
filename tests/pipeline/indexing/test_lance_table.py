"""The table of candidates for LanceDB: what a build writes for the engine that the settings name."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.errors import RunAborted
from pipeline.indexing import dense
from pipeline.progress import SilentProgress
from pipeline.settings import VectorSettings
from pipeline.vectors import resolve_encoder
from router import contract
from router.distribution import install_command
from router.errors import SnapshotInvalid
from router.files import name_problem

TOOLS, DIM = 1_000, 8


@pytest.fixture(autouse=True)
def _bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("router.retrieval.retrievers.dense.MOST_COMPARED", 5_000)


def vectors() -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Documents, five phrases each, their offsets: too many vectors to score each."""
    rows = np.random.default_rng(2).normal(size=(6 * TOOLS, DIM)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows[:TOOLS], rows[TOOLS:], np.arange(0, 5 * TOOLS + 1, 5)


def test_a_row_is_a_tools_ordinal_and_centroid_and_the_files_are_plain(tmp_path: Path) -> None:
    lancedb = pytest.importorskip("lancedb")
    dense.write_dense(tmp_path, *vectors(), "lancedb")
    rows = lancedb.connect(tmp_path).open_table("candidates").search().with_row_id(True).limit(TOOLS).to_arrow()
    assert rows["ordinal"].to_pylist() == rows["_rowid"].to_pylist() == list(range(TOOLS))
    documents, phrases, _ = vectors()
    expected = (documents + phrases.reshape(TOOLS, 5, DIM).mean(axis=1)) / 2
    assert np.array(rows["centroid"].to_pylist()) == pytest.approx(expected, abs=0.01)  # int8, then float16
    assert not (tmp_path / contract.CANDIDATES).exists() and (tmp_path / contract.MOMENTS).exists()
    files = [path for path in (tmp_path / contract.CANDIDATE_TABLE).rglob("*") if path.is_file()]
    assert files
    for path in files:  # no folder of the build is named in them
        assert not name_problem(path.relative_to(tmp_path).as_posix())
        assert str(tmp_path).encode() not in path.read_bytes()


@pytest.mark.nightly
def test_equal_centroids_give_equal_rows_and_an_index_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("lancedb")
    data = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        dense.write_dense(tmp_path / name, *vectors(), "lancedb")
        (file,) = (tmp_path / name / contract.CANDIDATE_TABLE / "data").iterdir()
        data.append(file.read_bytes())
    assert data[0] == data[1]


def test_a_small_catalog_needs_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    documents, phrases, offsets = vectors()
    dense.write_dense(tmp_path, documents[:100], phrases[:500], offsets[:101], "lancedb")
    assert not (tmp_path / contract.CANDIDATE_TABLE).exists()


def test_without_lancedb_a_build_stops_before_it_pays_and_writes_no_large_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    monkeypatch.setattr("pipeline.vectors.model.find_spec", lambda name: None)
    with pytest.raises(RunAborted, match=r"vectors\.engine = 'lancedb'") as raised:
        resolve_encoder(VectorSettings(engine="lancedb"), SilentProgress())
    assert str(raised.value).endswith(install_command("lancedb"))
    with pytest.raises(SnapshotInvalid, match="not installed"):
        dense.write_dense(tmp_path, *vectors(), "lancedb")
