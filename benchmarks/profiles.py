"""Measure what a profile costs: `python -m benchmarks.profiles SNAPSHOT [--most N] [--json FILE] [--against STORED]`.

The same requests are asked of a router and of its view by a profile, by turns, in CPU time of one thread; `ratio` is
the median of the ratios request by request, and `none`, the router against itself, the noise of it. `first ms` is what
the first request of a profile takes beyond the next: its mask, and the filters of all tools. Profiles, by the share of
the catalog that they leave:

    one blocked   all tools but one, by its id
    half, tenth   every second, or tenth, tool, by their ids
    globs         names of the first half of the alphabet, by thirteen globs
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.support.measuring import about, on_one_thread, percentiles, report
from benchmarks.support.timed_requests import own_requests, read_whole
from router import Profile, Router, Selection

RECIPES = ("default", "lexical")


def profiles_of(router: Router) -> dict[str, Profile]:
    """The profiles that are measured, by name."""
    ids = [tool.tool_id for tool in router.tools]
    return {
        "one blocked": Profile("one", Selection(block=(ids[0],))),
        "half": Profile("half", Selection(allow=tuple(ids[::2]))),
        "tenth": Profile("tenth", Selection(allow=tuple(ids[::10]))),
        "globs": Profile("globs", Selection(allow=tuple(f"{letter}*" for letter in "abcdefghijklm"))),
    }


def measure(router: Router, requests: Sequence[str]) -> dict[str, Any]:
    """Figures by profile and recipe."""
    figures: dict[str, Any] = {"none": _routes(router, router, requests)}
    for name, profile in profiles_of(router).items():
        view = router.for_profile(profile)
        first, again = _seconds(view, requests[0]), _seconds(view, requests[0])
        share = round(len(view) / len(router), 3)
        facts = {"share": share, "first ms": round(1e3 * (first - again), 1)}
        figures[name] = {**facts, **_routes(view, router, requests)}
    return figures


def _routes(view: Router, router: Router, requests: Sequence[str]) -> dict[str, Any]:
    found = {}
    for recipe in RECIPES:
        pairs = [(_seconds(view, request, recipe), _seconds(router, request, recipe)) for request in requests]
        ratio = median(now / before for now, before in pairs)
        found[recipe] = {**percentiles([now for now, _ in pairs]), "ratio": round(ratio, 3)}
    return found


def _seconds(router: Router, request: str, recipe: str = "default") -> float:
    begun = time.process_time()
    read_whole(router.route(request, recipe=recipe))
    return time.process_time() - begun


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
    with Router.open(asked.snapshot) as router:
        requests = own_requests(router._live.snapshot, asked.most)
        report("profiles", found, measure(router, requests), asked.json, asked.against)


if __name__ == "__main__":
    main()
