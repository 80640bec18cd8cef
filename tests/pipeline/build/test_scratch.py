"""What a build keeps on disk goes with it, and changes nothing in its snapshot."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.build import build, expanding
from pipeline.build.report import BuildReport
from pipeline.errors import RunAborted
from pipeline.inspection import tables
from pipeline.publish import served_files
from pipeline.scratch import ScratchFolder
from pipeline.settings import load
from router.contract import CATALOG_DB, RECORD_OFFSETS, RECORDS, TOKEN_COUNTS, VECTORS, Manifest

_TABLES = ("tools", "parameters", "phrases", "vectors", "ledger_vectors")


def _build(catalog: Path, workspace: Path, encoder: Path) -> BuildReport:
    overrides: dict[str, dict[str, Any]] = {"vectors": {"encoder": str(encoder)}, "ledger": {"backups": 0}}
    return build(load(catalog, overrides, environment={}), workspace=workspace)


def _content(folder: Path) -> dict[str, Any]:
    """Return the content hash, the bytes of the served files, and the rows of the tables."""
    content: dict[str, Any] = {"hash": Manifest.read(folder).content_hash}
    content |= {name: (folder / name).read_bytes() for name in (RECORDS, RECORD_OFFSETS, TOKEN_COUNTS, VECTORS)}
    with duckdb.connect(str(folder / CATALOG_DB), read_only=True) as connection:
        for table in _TABLES:
            rows = connection.sql(f"FROM {table}")
            content[table] = (list(zip(rows.columns, map(str, rows.types), strict=True)), rows.fetchall())
    return content


@pytest.fixture(scope="module")
def whole(catalog_folder: Path, encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshot of a catalog that fits into one shard; its workspace is three folders up."""
    return _build(catalog_folder, tmp_path_factory.mktemp("whole"), encoder_folder).snapshot


def test_shards_of_three_tools_give_the_snapshot_of_one_shard(
    whole: Path, catalog_folder: Path, encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (expanding, served_files, tables):
        monkeypatch.setattr(module, "SHARD_SIZE", 3)
    monkeypatch.setattr(tables, "_ROWS", 2)
    sharded = _content(_build(catalog_folder, tmp_path, encoder_folder).snapshot)
    assert sharded == _content(whole)
    assert len(sharded["tools"][1]) > 6


def test_nothing_is_left_of_the_scratch_folder_after_a_build(whole: Path) -> None:
    assert not (whole.parents[2] / "scratch").exists()
    assert not list(whole.parents[2].glob("*.tmp"))


def test_a_scratch_folder_that_cannot_be_made_ends_the_build_with_the_reason(
    catalog_folder: Path, encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: ScratchFolder, *_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ScratchFolder, "array", full)
    with pytest.raises(RunAborted, match=r"could not be written.*No space left on device"):
        _build(catalog_folder, tmp_path, encoder_folder)
    assert not (tmp_path / "scratch").exists()
