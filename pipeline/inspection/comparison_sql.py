"""Build the SQL that compares two snapshots, tool by tool, over both databases."""

from pathlib import Path

# The parts of a tool as people call them, and their columns in `tools`.
_SAME = "examples categories annotations deprecated outputs links operation kind instructions".split()
PARTS = {
    **{part: part for part in ("name", "provider", "description")},
    "schema": "input_schema",
    **{part: part for part in _SAME},
}
# Columns that the tools of older snapshots lack, and those that were text in them.
_LATER = ("outputs", "links", "operation")
_LATER_TEXTS = ("kind", "instructions")
JSON_COLUMNS = ("input_schema", "annotations", *_LATER)
_FACTS = ("requires", "provides")
_LISTS = ", ".join(("user_phrases", "synonyms", "related_concepts", "task_categories", "translations", *_FACTS))
_EXPANSION = f"[generator, model, when_to_use], {_LISTS}"


def differing(before: str, after: str, **more: str) -> str:
    """Return SQL for the list of the parts that differ.

    `before` and `after` are templates for a column's value, with {} for its name; `more` has a condition for each part
    beside PARTS.
    """
    conditions = {
        part: f"{before.format(column)} IS DISTINCT FROM {after.format(column)}" for part, column in PARTS.items()
    }
    cases = (f"CASE WHEN {condition} THEN '{part}' END" for part, condition in (conditions | more).items())
    return f"list_filter([{', '.join(cases)}], lambda part: part IS NOT NULL)"


def changes(before: str, after: str) -> str:
    """Return SQL for the columns of `changes`, over two attached databases with `tools`, `expansions` and `phrases`.

    An expansion differs where its words, its writer or its indexed phrases do. Its key does not count: it changes with
    every edit of the record.
    """
    other_words = "be.words IS DISTINCT FROM ae.words OR added.phrases IS NOT NULL OR removed.phrases IS NOT NULL"
    what = differing("b.{}", "a.{}", expansion=other_words)
    return f"""
        SELECT
            coalesce(a.tool_id, b.tool_id) AS tool_id,
            CASE WHEN b.tool_id IS NULL THEN 'added' WHEN a.tool_id IS NULL THEN 'removed' ELSE 'changed' END AS change,
            CASE WHEN a.tool_id IS NULL OR b.tool_id IS NULL THEN [] ELSE {what} END AS what,
            coalesce(added.phrases, []) AS added_phrases,
            coalesce(removed.phrases, []) AS removed_phrases
        FROM ({_tools(before)}) b
        FULL JOIN ({_tools(after)}) a ON a.tool_id = b.tool_id
        LEFT JOIN ({_words(before)}) be ON be.tool_id = b.tool_id
        LEFT JOIN ({_words(after)}) ae ON ae.tool_id = a.tool_id
        LEFT JOIN ({_phrases_without(after, before)}) added ON added.tool_id = a.tool_id
        LEFT JOIN ({_phrases_without(before, after)}) removed ON removed.tool_id = b.tool_id
        WHERE change <> 'changed' OR len(what) > 0
        ORDER BY tool_id
    """


def _tools(database: str) -> str:
    """Return SQL for the tools of a snapshot, which may be of an older version: JSON as text, missing columns NULL."""
    texts = [f"NULL::VARCHAR AS {name}" for name in _LATER_TEXTS]
    later = ", ".join([*(f"NULL::JSON AS {name}" for name in _LATER), *texts])
    as_text = ", ".join([*(f"{name}::VARCHAR AS {name}" for name in JSON_COLUMNS), "coalesce(kind, 'tool') AS kind"])
    all_columns = f"(SELECT {later} WHERE false) UNION ALL BY NAME FROM {database}.tools"
    return f"SELECT * REPLACE ({as_text}) FROM ({all_columns})"


def _words(database: str) -> str:
    return f"SELECT tool_id, row({_EXPANSION}) AS words FROM ({expansions(f'{database}.expansions')})"


def expansions(table: str) -> str:
    """Return SQL for a table of expansions, which may be of an older version: missing columns are empty."""
    missing = ", ".join(f"NULL::VARCHAR[] AS {name}" for name in _FACTS)
    filled = ", ".join(f"coalesce({name}, []) AS {name}" for name in _FACTS)
    return f"SELECT * REPLACE ({filled}) FROM ((SELECT {missing} WHERE false) UNION ALL BY NAME FROM {table})"


def _phrases_without(database: str, other: str) -> str:
    """Return SQL for the phrases, by tool, that the tool has in one database and not in the other."""
    return f"""
        SELECT tool_id, list(phrase ORDER BY position) AS phrases
        FROM {database}.phrases ANTI JOIN {other}.phrases USING (tool_id, phrase)
        GROUP BY tool_id
    """


def attach(path: Path, name: str) -> str:
    """Return SQL that attaches a database file for reading.

    The path is made absolute and quoted, because DuckDB takes a leading `word:` for an extension. `name` must be safe.
    """
    quoted = str(path.resolve()).replace("'", "''")
    return f"ATTACH '{quoted}' AS {name} (TYPE duckdb, READ_ONLY)"
