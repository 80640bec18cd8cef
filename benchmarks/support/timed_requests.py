"""Requests to time a snapshot with, and a process that keeps the other core busy meanwhile."""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.support.measuring import arguments
from router import RoutedTools
from router.snapshot.snapshot import Snapshot


def timing_arguments(description: str | None, most: int) -> argparse.ArgumentParser:
    """What every command takes that asks a snapshot requests."""
    parser = arguments(description)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--requests", type=Path, help="JSONL of large_catalogs; else phrases of the snapshot")
    parser.add_argument("--most", type=int, default=most, help="requests to ask")
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    return parser


def requests_of(asked: argparse.Namespace) -> list[str]:
    """The requests of the file that was named, or phrases of the snapshot's own."""
    if asked.requests:
        return read_requests(asked.requests, asked.most)
    return own_requests(Snapshot.open(asked.snapshot), asked.most)


def read_requests(path: Path, most: int) -> list[str]:
    """The first requests of a JSONL file, `{"request": …}` a line. Raises ValueError where it holds none."""
    with path.open(encoding="utf-8") as lines:
        found = [str(json.loads(line)["request"]) for line, _ in zip(lines, range(most), strict=False)]
    if not found:
        raise ValueError(f"{path} holds no request: write it with benchmarks.large_catalogs")
    return found


def own_requests(snapshot: Snapshot, count: int, seed: int = 20) -> list[str]:
    """Phrases of the snapshot's tools, drawn at random; each tenth is two of them. They find their tool too easily for
    figures of quality; their lengths are those of requests."""
    draw = random.Random(seed)
    with_phrases = [entry for entry in map(snapshot.records.entry, _drawn(snapshot, count, draw)) if entry.phrases]
    said = [draw.choice(entry.phrases) for entry in with_phrases]
    if not said:
        raise ValueError(f"{snapshot.folder} holds no phrase: give a file of requests")
    pairs = zip(said, [said[-1], *said], strict=False)
    return [f"{one}, then {other}" if place % 10 == 9 else one for place, (one, other) in enumerate(pairs)]


def _drawn(snapshot: Snapshot, count: int, draw: random.Random) -> Sequence[int]:
    tools = len(snapshot.records)
    return draw.sample(range(tools), min(count, tools))


def read_whole(answer: RoutedTools) -> int:
    """Read each tool's record, as an agent that hands them to its model does; the number of them."""
    return sum(bool(tool.record.name or tool.record.input_schema) for tool in answer.tools)


@contextmanager
def busy_neighbour(wanted: bool) -> Iterator[None]:
    """A process that keeps a core busy, if wanted; it ends with the block."""
    if not wanted:
        yield
        return
    neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        neighbour.kill()
        neighbour.wait()
