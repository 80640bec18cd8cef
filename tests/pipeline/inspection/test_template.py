"""The packaged database that every `catalog.duckdb` begins as."""

from pathlib import Path

import duckdb

from pipeline.inspection.template import TEMPLATE, write_template

_DESCRIBED = """
    SELECT 'table', table_name, sql, comment, estimated_size FROM duckdb_tables()
    UNION ALL SELECT 'view', view_name, sql, comment, 0 FROM duckdb_views() WHERE NOT internal
    UNION ALL SELECT 'macro', function_name, macro_definition, comment, 0 FROM duckdb_functions() WHERE NOT internal
    UNION ALL SELECT 'column', table_name || '.' || column_name, data_type, comment, 0 FROM duckdb_columns()
        WHERE NOT internal
    ORDER BY ALL
"""


def described(path: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(_DESCRIBED).fetchall()


def test_the_packaged_template_is_what_the_statements_make(tmp_path: Path) -> None:
    write_template(tmp_path / "new.duckdb")
    made = described(tmp_path / "new.duckdb")
    assert len(made) > 250
    assert made == described(TEMPLATE), "write it anew: python -m pipeline.inspection.template"
