"""Make a large catalog from real tools: `python -m benchmarks.large_catalogs TOOLS.jsonl --tools N --out FOLDER`.

TOOLS holds real tools. The first are theirs, as they are; the rest are recombined: name, description and parameters of
one, provider of another, and one word of the name exchanged for one of a third, in the description too. Phrases are
made from each tool's own words (see phrasing.py), eight a tool: no model wrote them.

Writes `tools.jsonl`, `expansions.jsonl`, and `requests.jsonl`: requests for tools in other words than their phrases,
88 % for one tool, 10 % for two or three in turn, 2 % long with pasted text. A tool depends on its number and the seed
alone, so a larger catalog begins with the smaller one; memory is that of the real tools.
"""

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.phrasing import expansion, phrases
from router.text import identifier_words

REQUESTS = 1_000
_SHORTEST_EXCHANGED = 4  # letters: shorter words of a name are verbs and particles
_ROUTINE = frozenset("list search create update delete send fetch read find query remove make execute".split())


def real_tools(path: Path) -> list[dict[str, Any]]:
    """The tools of a file in the benchmark format."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def tool(real: Sequence[dict[str, Any]], number: int, seed: int) -> dict[str, Any]:
    """The tool of a number from 0: a real one while there are any, then recombined ones. Ids are unique."""
    if number < len(real):
        return real[number]
    draw = random.Random(f"{seed}/tool/{number}")
    body, place, giver = (real[draw.randrange(len(real))] for _ in range(3))
    name, description = body["name"], body["description"] or ""
    taken, given = _nouns(body["name"]), _nouns(giver["name"])
    if taken and given:
        old, new = draw.choice(taken), draw.choice(given)
        name = re.sub(re.escape(old), new, name, flags=re.IGNORECASE)
        # Whole words and their plurals: "invoices" must not become "invoicticket".
        description = re.sub(rf"\b{re.escape(old)}(s?)\b", rf"{new}\1", description, flags=re.IGNORECASE)
    return {**body, "id": f"{place['provider']}/{name}#{number}", "name": name, "provider": place["provider"],
            "description": description}  # fmt: skip


def body_of(real: Sequence[dict[str, Any]], number: int, seed: int) -> int:
    """The place of the real tool whose name and description a tool's are made of: itself for a real one."""
    return number if number < len(real) else random.Random(f"{seed}/tool/{number}").randrange(len(real))


def tools(real: Sequence[dict[str, Any]], count: int, seed: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each tool with its expansion."""
    for number in range(count):
        made = tool(real, number, seed)
        yield made, expansion(made, f"{seed}/phrases/{number}")


def requests(real: Sequence[dict[str, Any]], count: int, seed: int, number: int = REQUESTS) -> Iterator[dict[str, Any]]:
    """Requests for tools of the catalog, `{"request", "tool", "kind"}`; `tool` is that of the first step."""
    draw = random.Random(f"{seed}/requests")
    while number:
        kind = draw.choices(("one", "several", "long"), (88, 10, 2))[0]
        asked = [draw.randrange(count) for _ in range(draw.choice((2, 2, 3)) if kind == "several" else 1)]
        said = [_held_out(real, which, seed) for which in asked]
        if not all(said):
            continue
        request = ", then ".join(said)
        if kind == "long":
            pasted = (real[draw.randrange(len(real))]["description"] or "" for _ in range(12))
            request = f"{request}. Here is what I was sent:\n" + "\n".join(text for text in pasted if text)[:3_000]
        number -= 1
        yield {"request": request, "tool": tool(real, asked[0], seed)["id"], "kind": kind}


def _held_out(real: Sequence[dict[str, Any]], number: int, seed: int) -> str:
    """A phrase of a tool, of 4 to 25 words, that is none of its eight; empty where its words give no more."""
    wanted = tool(real, number, seed)
    known = phrases(wanted, f"{seed}/phrases/{number}")
    found = phrases(wanted, f"{seed}/held out/{number}", 3, besides=known)
    return next((phrase for phrase in found if 4 <= len(phrase.split()) <= 25), "")


def _nouns(name: str) -> list[str]:
    return [
        word
        for word in identifier_words(name)
        if len(word) >= _SHORTEST_EXCHANGED and word.isalpha() and word not in _ROUTINE
    ]


def write(real: Sequence[dict[str, Any]], count: int, folder: Path, seed: int) -> None:
    """The folder, a line at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        (folder / "tools.jsonl").open("w", encoding="utf-8") as tool_lines,
        (folder / "expansions.jsonl").open("w", encoding="utf-8") as expansion_lines,
    ):
        for made, written in tools(real, count, seed):
            tool_lines.write(json.dumps(made, ensure_ascii=False) + "\n")
            expansion_lines.write(json.dumps(written, ensure_ascii=False) + "\n")
    write_requests(real, count, folder / "requests.jsonl", seed)


def write_requests(real: Sequence[dict[str, Any]], count: int, path: Path, seed: int) -> None:
    """The requests alone, as for a snapshot that is written without a catalog folder."""
    with path.open("w", encoding="utf-8") as lines:
        for row in requests(real, count, seed):
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, metavar="TOOLS.jsonl")
    parser.add_argument("--tools", type=int, default=10_000)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=20)
    asked = parser.parse_args()
    real = real_tools(asked.real)
    write(real, asked.tools, asked.out, asked.seed)
    print(f"{asked.out}: {asked.tools:,} tools, {max(asked.tools - len(real), 0):,} of them recombined")


if __name__ == "__main__":
    main()
