"""Make folders in the benchmark format from public requests:
`python -m benchmarks.request_catalogs REQUESTS TOOLS OUT`.

REQUESTS holds requests.jsonl: for public tools, phrases (the expansions) and requests (the queries); and if there are
any varied.jsonl (longer requests) and multi.jsonl (requests of several tools). TOOLS holds `<catalog>/tools.jsonl`, the
vendors' definitions: a JSON object a line, with id, name, provider, description and parameters. OUT gets a folder a
catalog, of 180 to 1,000 tools each: `python -m benchmarks.no_tool` fits the priors on them. Two larger ones also hold
tools that no request is for, as a real catalog does: `python -m benchmarks.compare` measures speed with quality there.

`benchmarks/data/composio` is such REQUESTS, for 560 of Composio's actions.
"""

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
# Which tools each folder has: of one source's with requests, shuffled, from and to; and how many beside them.
FOLDERS = {
    "composio": ("composio", 0, None, 0),
    "smithery180": ("smithery", 0, 180, 0),
    "smithery500": ("smithery", 180, 680, 0),
    "smithery1000": ("smithery", 680, None, 0),
    "smithery2500": ("smithery", 0, 500, 2_000),
    "smithery10000": ("smithery", 0, None, 10_000),
}
QUERIES = 600
SEED = 7


def main() -> None:
    """Write the folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("requests", "tools", "out"):
        parser.add_argument(name, type=Path)
    asked = parser.parse_args()
    rows = _rows(asked.requests / "requests.jsonl")
    varied = {(row["catalog"], row["id"]): row for row in _rows_if_any(asked.requests / "varied.jsonl")}
    several = _rows_if_any(asked.requests / "multi.jsonl")
    for name, (catalog, first, last, beside) in FOLDERS.items():
        rng = random.Random(SEED)
        of_catalog = [row for row in rows if row["catalog"] == catalog]
        rng.shuffle(of_catalog)
        chosen = of_catalog[first:last]
        if not chosen:
            continue
        ids = {row["id"] for row in chosen}
        known = _rows(asked.tools / catalog / "tools.jsonl")
        others = [tool["id"] for tool in known if tool["id"] not in ids]
        kept = ids.union(random.Random(SEED).sample(others, min(beside, len(others))))
        definitions = [tool for tool in known if tool["id"] in kept]
        queries = [query for row in chosen for query in _queries(row, varied.get((catalog, row["id"])))]
        rng.shuffle(queries)
        queries = queries[:QUERIES]
        for row in several:
            if all(tool["catalog"] == catalog and tool["id"] in ids for tool in row["tools"]):
                queries.append((row["request"], [tool["id"] for tool in row["tools"]]))
        _write(asked.out / name, definitions, chosen, queries)
        print(f"{asked.out / name}: {len(definitions)} tools, {len(queries)} requests")


def _queries(row: Row, varied: Row | None) -> list[tuple[str, list[str]]]:
    texts = [*row["requests"], *((*varied["indirect"], varied["long"]) if varied else ())]
    return [(text, [row["id"]]) for text in texts]


def _write(
    folder: Path, definitions: Sequence[Row], phrases: Sequence[Row], queries: Sequence[tuple[str, list[str]]]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    expansions = [{"id": row["id"], "when_to_use": "", "user_phrases": row["phrases"]} for row in phrases]
    twins: dict[tuple[str, str], list[str]] = {}
    for tool in definitions:
        twins.setdefault((tool["name"], tool["description"]), []).append(tool["id"])
    alike = {tool_id: ids for ids in twins.values() for tool_id in ids}
    judged = [
        {
            "id": f"{folder.name}-{number}",
            "query": text,
            "required": tools,
            "acceptable": sorted({twin for tool in tools for twin in alike[tool]}),
            "groups": [alike[tool] for tool in tools],
            "kind": "multi" if len(tools) > 1 else "single",
        }
        for number, (text, tools) in enumerate(queries)
    ]
    for name, rows in (("tools", definitions), ("expansions", expansions), ("queries", judged)):
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


def _rows_if_any(path: Path) -> list[dict[str, Any]]:
    return _rows(path) if path.is_file() else []


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


if __name__ == "__main__":
    main()
