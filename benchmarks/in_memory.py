"""Time tools in memory to the first answer in a fresh process:
`python -m benchmarks.in_memory [--encoder FOLDER] [--json FILE]`.

The whole process is timed, from before the interpreter starts to its end; the median of seven, and its CPU time, which
a busy machine does not stretch. With a folder of an exported encoder, or of a snapshot, tools have vectors too.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.support.measuring import about, report

PROCESSES = 7
_IMPORT = "import router"
_ANSWER = """
import sys
from router import Router
count, encoder = int(sys.argv[1]), sys.argv[2] or None
verbs = "list get create delete update search send cancel archive export".split()
nouns = "invoice charge issue channel message report customer order ticket user event page repository branch".split()
tools = []
for number in range(count):
    verb, noun, of = (words[number * step % len(words)] for words, step in ((verbs, 1), (nouns, 3), (nouns, 5)))
    identifier = {"type": "string", "description": f"The id of the {noun}."}
    tools.append({
        "name": f"{verb}_{noun}_{of}_{number}",
        "description": f"{verb.title()} the {noun} of a {of}. Use it where {of} {number} has a {noun} that matters.",
        "parameters": {"type": "object", "properties": {f"{noun}_id": identifier, "limit": {"type": "integer"}}},
    })
assert len(Router.from_tools(tools, provider="acme", encoder=encoder).route("show me the invoices of a customer"))
"""


def measure(encoder: str) -> dict[str, Any]:
    """Return seconds of a whole process, and of CPU time."""
    runs = {"import": [_IMPORT], "10 tools": [_ANSWER, "10", ""], "1,000 tools": [_ANSWER, "1000", ""]}
    if encoder:
        runs["10 tools, vectors"] = [_ANSWER, "10", encoder]
    return {name: _median([_timed(*arguments) for _ in range(PROCESSES)]) for name, arguments in runs.items()}


def _timed(*arguments: str) -> tuple[float, float]:
    before, begun = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", *arguments], check=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begun, cpu


def _median(runs: list[tuple[float, float]]) -> dict[str, float]:
    wall, cpu = (round(statistics.median(times), 3) for times in zip(*runs, strict=True))
    return {"seconds": wall, "cpu_seconds": cpu}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="", help="the folder of an exported encoder, or of a snapshot")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    report("tools in memory", about(), measure(asked.encoder), asked.json, asked.against)


if __name__ == "__main__":
    main()
