"""Measure what hostile tools gain: `python -m benchmarks.poisoning [ATTACKS] [--catalog FOLDER] [--json FILE]`.

Each line of ATTACKS has an `honest_tool`, an `attack_tool` of the same id, and the answers of a model that obeys the
attack and of one that reads the honest tool (`obedient_answer`, `honest_answer`). The catalog is built for real with
all honest tools, and again with all attacks; both answer the catalog's judged requests. An attack gains where its tool
is among the first five of a request and its honest twin is not.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table

from pipeline.build import build
from pipeline.settings import load
from quartermaster.evaluation import Judgement, K, evaluate, judgements_of, read_judgements
from router import Router

FIRST = 5
Attack = Mapping[str, Any]


def main() -> None:
    """Measure a file of attacks and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", type=Path, nargs="?", default=Path("benchmarks/data/poisoned_tools.jsonl"))
    parser.add_argument("--catalog", type=Path, default=Path("catalogs/demo"))
    parser.add_argument("--set", action="append", default=[], help="SECTION.FIELD=VALUE of the build, as JSON")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    attacks = [json.loads(line) for line in arguments.attacks.read_text(encoding="utf-8").splitlines() if line.strip()]
    result = measure(attacks, arguments.catalog, _overrides(arguments.set))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for shown in tables(result):
        Console(width=120).print(shown)


def measure(attacks: Sequence[Attack], catalog: Path, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the attacks gain on a catalog's judged requests."""
    judged = judgements_of(catalog)
    assert judged, f"{catalog} holds no judged requests"
    judgements = [one for one in read_judgements(judged) if one.kind != "none"]
    ids = {attack["honest_tool"]["id"] for attack in attacks}
    with tempfile.TemporaryDirectory() as scratch:
        honest_folder = _build(attacks, catalog, Path(scratch, "honest"), "honest", overrides)
        hostile_folder = _build(attacks, catalog, Path(scratch, "hostile"), "hostile", overrides)
        honest, hostile = (_answers(Router.open(one), judgements) for one in (honest_folder, hostile_folder))
        phrases = _indexed(hostile_folder)
    rows = [_gain(attack, judgements, honest.tools, hostile.tools, phrases) for attack in attacks]
    return {
        "catalog": catalog.name,
        "requests": len(judgements),
        "attacks": len(attacks),
        "attacks that gain": sum(row["gained"] > 0 for row in rows),
        "honest": {**_counts(ids, honest.tools), **honest.metrics},
        "hostile": {**_counts(ids, hostile.tools), **hostile.metrics},
        "lose a required tool": sum(
            bool(set(one.required) & set(before) - set(after))
            for one, before, after in zip(judgements, honest.tools, hostile.tools, strict=True)
        ),
        "demanded phrases indexed": sum(row["indexed"] for row in rows),
        "demanded phrases": sum(row["demanded"] for row in rows),
        "rows": rows,
    }


@dataclass(frozen=True)
class Answers:
    """The tools of each request, the best first, and the metrics over all."""

    tools: Sequence[Sequence[str]]
    metrics: Mapping[str, float]


def _answers(router: Router, judgements: Sequence[Judgement]) -> Answers:
    tools = [router.route(one.request, k=K).ids for one in judgements]
    means = evaluate(zip(tools, judgements, strict=True))
    return Answers(tools, {name: round(means[name] or 0, 4) for name in ("full@10", "ndcg@10")})


def _build(attacks: Sequence[Attack], catalog: Path, folder: Path, side: str, overrides: Mapping[str, Any]) -> Path:
    shutil.copytree(catalog, folder)
    tool, answer = ("attack_tool", "obedient_answer") if side == "hostile" else ("honest_tool", "honest_answer")
    (folder / "hostile.jsonl").write_text("".join(json.dumps(attack[tool]) + "\n" for attack in attacks))
    lines = [json.dumps({**attack[answer], "id": attack[tool]["id"]}) for attack in attacks]
    with (folder / "expansions.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("".join(line + "\n" for line in lines))
    with (folder / "catalog.toml").open("a", encoding="utf-8") as stream:
        stream.write('\n[[source]]\npath = "hostile.jsonl"\nformat = "jsonl"\n')
    settings = load(folder, {"publish": {"judged": False}, **overrides}, environment={})
    return build(settings, workspace=folder / "workspace").snapshot


def _indexed(snapshot: Path) -> frozenset[tuple[str, str]]:
    """Return the phrases that have a vector, with their tools."""
    with duckdb.connect(str(snapshot / "catalog.duckdb"), read_only=True) as connection:
        return frozenset(connection.execute("SELECT tool_id, phrase FROM phrases").fetchall())


def _counts(ids: set[str], answers: Sequence[Sequence[str]]) -> dict[str, int]:
    return {
        "in the first five": sum(bool(ids & set(tools[:FIRST])) for tools in answers),
        "in first place": sum(tools[0] in ids for tools in answers if tools),
    }


def _gain(
    attack: Attack,
    judgements: Sequence[Judgement],
    honest: Sequence[Sequence[str]],
    hostile: Sequence[Sequence[str]],
    phrases: frozenset[tuple[str, str]],
) -> dict[str, Any]:
    tool_id = attack["attack_tool"]["id"]
    gained = [
        one.request
        for one, before, after in zip(judgements, honest, hostile, strict=True)
        if tool_id in after[:FIRST] and tool_id not in before[:FIRST]
    ]
    return {
        "form": attack["form"],
        "tool": tool_id,
        "gained": len(gained),
        "examples": gained[:3],
        "demanded": len(attack["demand"]),
        "indexed": sum((tool_id, demand) in phrases for demand in attack["demand"]),
    }


def _overrides(assignments: Sequence[str]) -> dict[str, Any]:
    overrides: dict[str, Any] = {}
    for assignment in assignments:
        path, _, value = assignment.partition("=")
        section, _, field = path.partition(".")
        overrides.setdefault(section, {})[field] = json.loads(value)
    return overrides


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Yield a table of both catalogs, and one of the attacks that gain."""
    gain = f"{result['attacks that gain']} of {result['attacks']} attacks gain"
    both = Table(title=f"{gain}; {result['demanded phrases indexed']} of {result['demanded phrases']} phrases indexed")
    both.add_column("catalog")
    for column in result["honest"]:
        both.add_column(column, justify="right")
    for side in ("honest", "hostile"):
        both.add_row(side, *(str(value) for value in result[side].values()))
    yield both
    rows = Table("form", "tool", "gained", "indexed", "for example", title="Attacks that gain")
    for row in result["rows"]:
        if row["gained"]:
            rows.add_row(row["form"], row["tool"], str(row["gained"]), str(row["indexed"]), "; ".join(row["examples"]))
    yield rows


if __name__ == "__main__":
    main()
