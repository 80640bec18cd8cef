"""Figures of several selectors of tools on the same judged requests, and their frontier of quality against time."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.support.measuring import percentiles
from benchmarks.support.peer_processes import Answered
from quartermaster.evaluation import METRICS, Judgement, differences, intervals, scores
from quartermaster.evaluation.metrics import by_key, means
from quartermaster.evaluation.resampling import holm


def selector_rows(judgements: Sequence[Judgement], answers: Mapping[str, Answered]) -> dict[str, dict[str, Any]]:
    """Return by selector its metrics, times and sizes, rounded; the first selector is held against each other one."""
    rows = compared_rows(judgements, {name: answered.rankings for name, answered in answers.items()})
    for name, answered in answers.items():
        times = {"ms": percentiles(ms / 1e3 for ms in answered.wall_ms)}
        times["cpu_ms"] = percentiles(ms / 1e3 for ms in answered.cpu_ms)
        build = {"build_s": round(answered.build_s, 2), "build_cpu_s": round(answered.build_cpu_s, 2)}
        sizes = {"rss_mb": round(answered.rss_mb), "versions": dict(answered.versions)}
        rows[name] = {**rounded(rows[name]), **times, **build, **sizes}
        if answered.callers:
            rows[name]["callers"] = {number: _at_once(asked) for number, asked in answered.callers.items()}
    return rows


def _at_once(asked: Mapping[str, Any]) -> dict[str, float]:
    return {"requests/s": round(asked["per_s"], 1), **percentiles(ms / 1e3 for ms in asked["wall_ms"])}


def compared_rows(
    judgements: Sequence[Judgement], rankings: Mapping[str, Sequence[Sequence[str]]]
) -> dict[str, dict[str, Any]]:
    """Return by selector the metrics and their intervals, and the lead of the first selector over each other one.

    The first selector has no lead. p is corrected for the number of the others.
    """
    tables = {name: scores(zip(ranked, judgements, strict=True)) for name, ranked in rankings.items()}
    rows: dict[str, dict[str, Any]] = {
        name: {"metrics": means(table), "intervals": by_key(intervals(table))} for name, table in tables.items()
    }
    if not tables:
        return rows
    first = next(iter(tables))
    gains = {name: by_key(differences(tables[first], table)) for name, table in tables.items() if name != first}
    for metric in METRICS:
        of_metric = {name: gain[metric.key] for name, gain in gains.items() if gain[metric.key]}
        for (name, gain), p in zip(of_metric.items(), holm([gain.p for gain in of_metric.values()]), strict=True):
            rows[name].setdefault("difference", {})[metric.key] = {**gain.to_json(), "p": p}
    return rows


def frontier(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the names whose (milliseconds, quality) no other one beats, the quickest first.

    A point is beaten by one that is as quick and as good, and quicker or better. Equal points stand side by side.
    """
    best = float("-inf")
    found: list[str] = []
    for name, (ms, quality) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1])):
        if quality > best or (found and points[found[-1]] == (ms, quality)):
            best = quality
            found.append(name)
    return found


def rounded(value: Any) -> Any:
    """Return JSON with its floats rounded to six decimals."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value
