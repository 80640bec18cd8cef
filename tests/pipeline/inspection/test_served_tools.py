"""What a build reads of the snapshot that serves, and what it says where it cannot."""

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from pipeline.errors import SnapshotInvalid
from pipeline.inspection.served_tools import served_expansions, served_texts
from router.contract import CATALOG_DB, MANIFEST


@pytest.mark.parametrize("read", [served_texts, lambda folder: served_expansions(folder, ["a/b"])])
def test_a_database_without_the_tables_is_named(read: Callable[[Path], object], snapshot: Path, tmp_path: Path) -> None:
    shutil.copyfile(snapshot / MANIFEST, tmp_path / MANIFEST)
    with duckdb.connect(str(tmp_path / CATALOG_DB)) as connection:
        connection.execute("CREATE TABLE snapshot AS SELECT 1 AS run_id")
    with pytest.raises(SnapshotInvalid, match=r"catalog\.duckdb cannot be read: Catalog Error"):
        read(tmp_path)
