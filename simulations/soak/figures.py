"""What a soak shows: its figures, what was wrong, and both over time."""

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from benchmarks.support.measuring import percentiles
from simulations.soak.course import Course, Sample
from simulations.soak.judging import Judge, Verdict, rollout, slope_per_hour

_WARM_UP = 0.12  # of the soak, after the last kill: ONNX Runtime's memory grows with the requests that run at once
_MOST_GROWTH = 0.05  # of memory, from the first third after the warm-up to the last
_MOST_CACHED = 4  # what serves, the one before, one that is being fetched, and one that a slow worker still serves
_WINDOWS = 60
_TROUBLE = re.compile(r"ERROR|CRITICAL|Traceback|Exception")
_KILLED = re.compile(r"was killed by SIGKILL(; another starts .*)?$")  # the soak did


def figures_of(course: Course, known: Sequence[Sequence[str]]) -> tuple[dict[str, Any], list[str]]:
    """Return the figures of a soak, and a sentence for each thing that was wrong."""
    judge, verdict = Judge(known, course.published, course.kills), Verdict()
    for rows in course.rows[:-1]:
        judge.fast(rows, verdict)
    judge.slow(course.rows[-1], verdict)
    answers = sorted((row for rows in course.rows[:-1] for row in rows), key=lambda row: row["at"])
    calm, during = _split(rollout(course.published, answers), course)
    held, wrong = _resources(course)
    done = Counter(name for _, name in course.events)
    figures: dict[str, Any] = {
        "counts": {
            **dict(sorted(verdict.counts.items())),
            "wrong": len(verdict.wrong),
            "publications": len(course.published),
            "snapshots that answered": len(verdict.snapshots),
            "workers killed": len(course.kills),
            "reloads": done["reload"],
            "samples in which the server was not ready": sum(sample.ready != 200 for sample in course.samples),
        },
        "ms a request": percentiles(row["seconds"] for row in answers if "error" not in row),
        **held,
    }
    if calm:
        figures["s until the first answer of a publication"] = _spread(first for first, _ in calm)
        figures["s until no older snapshot answers"] = _spread(last for _, last in calm)
    if during:
        figures["s until all serve it, published while the bucket was away"] = _spread(last for _, last in during)
    trouble = [line for line in course.log if _TROUBLE.search(line) and not _KILLED.search(line)]
    wrong += [f"the server's log says: {line}" for line in trouble]
    if course.exit_code != 0:
        wrong.append(f"the server ended with the exit code {course.exit_code} after SIGTERM")
    return figures, [*verdict.wrong, *wrong]


def _split(
    rollouts: Sequence[tuple[int, float, float]], course: Course
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Return the roll-outs that no outage touched, and the others."""
    calm: list[tuple[float, float]] = []
    during: list[tuple[float, float]] = []
    for number, first, last in rollouts:
        at = course.published[number].at
        touched = any(at < end and at + last > start for start, end in course.outages)
        (during if touched else calm).append((first, last))
    return calm, during


def _resources(course: Course) -> tuple[dict[str, Any], list[str]]:
    """Return what the server held over time, and what of it grew."""
    begun = course.begun + (course.plan.troubled + _WARM_UP) * course.plan.seconds
    samples = [sample for sample in course.samples if begun <= sample.at <= course.ended]
    serving = samples[-1].processes.keys() if samples else set()
    grown = [sample for sample in samples if sample.processes.keys() == serving]
    figures: dict[str, Any] = {
        "the same workers served": {"minutes": _minutes(grown), "publications": _seen(course, grown)}
    }
    wrong: list[str] = []
    ways: dict[str, tuple[Callable[[Sample], float], Sequence[Sample], float]] = {
        "MB (Pss) of all processes": (_total("pss"), grown, _MOST_GROWTH),
        "MB that one process alone has": (_total("own"), grown, _MOST_GROWTH),
        "MB (Rss) of all processes": (_total("rss"), grown, _MOST_GROWTH),
        "threads": (_total("threads"), grown, _MOST_GROWTH),
        "open files": (_total("files"), grown, 0.25),  # connections come and go
        "MB of the cache": (lambda sample: sample.cached_mb, samples, 0.5),  # a snapshot that is being fetched
    }
    for name, (value, kept, most) in ways.items():
        if len(kept) < 6:
            wrong.append(f"{name}: {len(kept)} samples with the same processes, 6 are needed to see a trend")
            continue
        rows = [(sample.at, value(sample)) for sample in kept]
        third = len(rows) // 3
        first, last = (statistics.median(row for _, row in part) for part in (rows[:third], rows[-third:]))
        figures[name] = {
            "first third": round(first, 1),
            "last third": round(last, 1),
            "highest": round(max(row for _, row in rows), 1),
            "slope an hour": round(slope_per_hour(rows), 2),
        }
        if last > first * (1 + most) + 2:
            wrong.append(f"{name} grew from {first:.1f} to {last:.1f}")
    most_cached = max(sample.cached_snapshots for sample in course.samples)
    figures["snapshots in the cache"] = {"highest": most_cached, "last": course.samples[-1].cached_snapshots}
    if most_cached > _MOST_CACHED:
        wrong.append(f"{most_cached} snapshots lay in the cache at once, {_MOST_CACHED} may")
    counted = [sample.requests_counted for sample in course.samples if sample.requests_counted]
    if any(later < earlier for earlier, later in pairwise(counted)):
        wrong.append("the metric of answered requests fell")
    return figures, wrong


def _minutes(samples: Sequence[Sample]) -> float:
    return round((samples[-1].at - samples[0].at) / 60, 1) if samples else 0.0


def _seen(course: Course, samples: Sequence[Sample]) -> int:
    return sum(samples[0].at <= publication.at <= samples[-1].at for publication in course.published) if samples else 0


def _total(name: str) -> Callable[[Sample], float]:
    return lambda sample: sum(getattr(held, name) for held in sample.processes.values())


def _spread(seconds: Iterable[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {"median s": round(statistics.median(ordered), 2), "longest s": round(ordered[-1], 2), "of": len(ordered)}


def over_time(course: Course) -> dict[str, Any]:
    """Return columns for a plot: minutes since the begin, and for each window of time what was so at its end."""
    length = course.plan.seconds / _WINDOWS
    columns: dict[str, list[float | None]] = {name: [] for name in ("minute", "pss", "highest", "p50", "p95", "rate")}
    for window in range(_WINDOWS):
        start, end = (course.begun + length * at for at in (window, window + 1))
        taken = [
            row["seconds"]
            for rows in course.rows[:-1]
            for row in rows
            if start <= row["at"] < end and "error" not in row
        ]
        sizes = [sample for sample in course.samples if start <= sample.at < end]
        figures = percentiles(taken) if taken else {}
        columns["minute"].append(round((end - course.begun) / 60, 3))
        columns["pss"].append(round(statistics.median(map(_total("pss"), sizes)), 1) if sizes else None)
        columns["highest"].append(max((h.pss for s in sizes for h in s.processes.values()), default=None))
        columns["p50"].append(figures.get("p50"))
        columns["p95"].append(figures.get("p95"))
        columns["rate"].append(round(len(taken) / length, 1))
    events: dict[str, list[float]] = {}
    for at, name in course.events:
        events.setdefault(name, []).append(round((at - course.begun) / 60, 3))
    return {**columns, "events": events}
