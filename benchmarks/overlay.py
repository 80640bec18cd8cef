"""Measure what tools registered at run time cost:
`python -m benchmarks.overlay SNAPSHOT [--most N] [--against STORED]`.

The tools are the snapshot's own, under a provider of their own and each with a word more: 1, 10 and 1,000 of them are
registered, one beside the 1,000 is changed and one removed. Routes with and without them are asked by turns, in CPU
time of one thread; `ratio` is the median of the ratios request by request, and with no tool the noise of it.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.support.measuring import about, on_one_thread, percentiles, report
from benchmarks.support.timed_requests import own_requests, read_whole
from router import Router, ToolRecord
from router.snapshot.overlay import Overlay
from router.snapshot.reloading import ReloadingSnapshot

MOST_TOOLS = 1_000
RECIPES = ("default", "lexical")


def late(router: Router, count: int) -> list[ToolRecord]:
    """So many tools of a snapshot, or all, as those of another provider; none is a twin of the one it was."""
    places = np.linspace(0, router.size - 1, min(count, router.size)).astype(int).tolist()
    drawn = (router.tools[place] for place in places)
    return [
        replace(tool, tool_id=f"late/{place}", provider="late", description=f"{tool.description} Late.")
        for place, tool in enumerate(drawn)
    ]


def measure(snapshot: Path, most: int) -> dict[str, Any]:
    """Milliseconds of each change; percentiles of routes, and their ratios, by how many tools are registered."""
    live = ReloadingSnapshot.open(snapshot)
    alone = live.snapshot
    requests, tools = own_requests(alone, most), late(Router(alone), MOST_TOOLS + 1)
    figures: dict[str, Any] = {"register": {}, "none": _routes(live, alone, requests)}
    last = tools.pop()
    held = 0
    for count in (1, 10, MOST_TOOLS):
        added = tools[held:count]
        figures["register"][f"{len(added)} more"] = _changed(live, Overlay.registered, added)
        held = count
        if count > 1:
            figures[f"{held:,} registered"] = _routes(live, alone, requests)
    figures["register"][f"1 beside {held:,}"] = _changed(live, Overlay.registered, [last])
    figures["register"]["1 again, changed"] = _changed(live, Overlay.registered, [replace(last, description="Other.")])
    figures["register"]["1 removed"] = _changed(live, Overlay.removed, [alone.records.tool_id(0)])
    figures["1 removed"] = _routes(live, alone, requests)
    return figures


def _changed(live: ReloadingSnapshot, method: Any, given: Sequence[Any]) -> dict[str, float]:
    """Wall and CPU milliseconds of one change."""
    begun, used = time.perf_counter(), time.process_time()
    live.change(lambda overlay: method(overlay, given))
    return {
        "ms": round(1e3 * (time.perf_counter() - begun), 1),
        "cpu ms": round(1e3 * (time.process_time() - used), 1),
    }


def _routes(live: ReloadingSnapshot, alone: Any, requests: Sequence[str]) -> dict[str, Any]:
    sides = Router(live.snapshot), Router(alone)
    found = {}
    for recipe in RECIPES:
        taken: tuple[list[float], list[float]] = ([], [])
        for request in requests:
            for router, times in zip(sides, taken, strict=True):
                begun = time.process_time()
                read_whole(router.route(request, recipe=recipe))
                times.append(time.process_time() - begun)
        ratio = median(now / before for now, before in zip(*taken, strict=True))
        found[recipe] = {**percentiles(taken[0]), "ratio": round(ratio, 3)}
    return found


def main() -> None:
    """Measure, print, write."""
    on_one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--most", type=int, default=300, help="requests to ask")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    found = about(asked.snapshot)
    report("tools registered at run time", found, measure(asked.snapshot, asked.most), asked.json, asked.against)


if __name__ == "__main__":
    main()
