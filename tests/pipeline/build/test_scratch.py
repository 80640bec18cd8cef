"""What a build keeps on disk goes with it, and changes nothing in its snapshot."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.build import build, expanding
from pipeline.inspection import tables
from pipeline.publish import served_files
from pipeline.settings import CatalogSettings, load
from router.contract import CATALOG_DB, RECORD_OFFSETS, RECORDS, TOKEN_COUNTS, VECTORS, Manifest

_TABLES = ("tools", "parameters", "phrases", "vectors")


@pytest.fixture
def settings(catalog_folder: Path, encoder_folder: Path) -> CatalogSettings:
    return load(catalog_folder, {"vectors": {"encoder": str(encoder_folder)}}, environment={})


def _content(folder: Path) -> dict[str, Any]:
    """Return the content hash, the bytes of the served files, and the rows of the tables."""
    content: dict[str, Any] = {"hash": Manifest.read(folder).content_hash}
    content |= {name: (folder / name).read_bytes() for name in (RECORDS, RECORD_OFFSETS, TOKEN_COUNTS, VECTORS)}
    with duckdb.connect(str(folder / CATALOG_DB), read_only=True) as connection:
        for table in _TABLES:
            rows = connection.sql(f"FROM {table}")
            content[table] = (list(zip(rows.columns, map(str, rows.types), strict=True)), rows.fetchall())
    return content


def test_parts_of_three_tools_give_the_snapshot_of_one_part_and_leave_nothing(
    settings: CatalogSettings, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (expanding, served_files):
        monkeypatch.setattr(module, "_TOOLS_A_PART", 3)
    monkeypatch.setattr(tables, "_ROWS", 2)
    assert _content(build(settings, workspace=tmp_path).snapshot) == _content(snapshot)
    assert not (tmp_path / "scratch").exists() and not list(tmp_path.glob("*.tmp"))
