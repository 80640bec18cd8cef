"""Build the SQL that compares two snapshots, tool by tool, over both databases."""

from pathlib import Path

# The parts of a tool as people call them, and their columns in `tools`.
PARTS = {
    "name": "name",
    "provider": "provider",
    "description": "description",
    "schema": "input_schema",
    "examples": "examples",
    "categories": "categories",
    "annotations": "annotations",
    "deprecated": "deprecated",
}
_EXPANSION = "[generator, model, when_to_use], user_phrases, synonyms, related_concepts, task_categories, translations"


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
    """Return SQL for tool_id, change and what, over two attached databases that have `tools` and `expansions`.

    An expansion differs where its words or its writer do. Its key does not count: it changes with every edit of the
    record.
    """
    what = differing("b.{}", "a.{}", expansion="be.words IS DISTINCT FROM ae.words")
    return f"""
        SELECT
            coalesce(a.tool_id, b.tool_id) AS tool_id,
            CASE WHEN b.tool_id IS NULL THEN 'added' WHEN a.tool_id IS NULL THEN 'removed' ELSE 'changed' END AS change,
            CASE WHEN a.tool_id IS NULL OR b.tool_id IS NULL THEN [] ELSE {what} END AS what
        FROM {before}.tools b
        FULL JOIN {after}.tools a ON a.tool_id = b.tool_id
        LEFT JOIN (SELECT tool_id, row({_EXPANSION}) AS words FROM {before}.expansions) be ON be.tool_id = b.tool_id
        LEFT JOIN (SELECT tool_id, row({_EXPANSION}) AS words FROM {after}.expansions) ae ON ae.tool_id = a.tool_id
        WHERE change <> 'changed' OR len(what) > 0
        ORDER BY tool_id
    """


def attach(path: Path, name: str) -> str:
    """Return SQL that attaches a database file for reading.

    The path is made absolute and quoted, because DuckDB takes a leading `word:` for an extension. `name` must be safe.
    """
    quoted = str(path.resolve()).replace("'", "''")
    return f"ATTACH '{quoted}' AS {name} (TYPE duckdb, READ_ONLY)"
