"""Hold what clients wrote down against what is known: right answers, mixed answers, broken connections, late ones.

A row is a line of a client's journal: see `simulations.soak.client` and `slow_client`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulations.soak.publications import Publication

Row = Mapping[str, Any]
_NOTICED_S = 30.0  # within which a client must have noticed that its connection is dead
_ARRIVES_S = 10.0  # that a server waits for the headers of a request, and as long for its body
_STALLED_S = 20.0  # within which a stalled request must have ended: 10 s are for its headers
WHOLE = ("drips", "sips")  # slow clients that wait for their answer


@dataclass(frozen=True)
class Kill:
    """A worker's death: when, by which signal, and the clients' ports of the connections that it held."""

    at: float
    pid: int
    ports: frozenset[int]


@dataclass
class Verdict:
    """What clients met, counted, and a sentence for each thing that must not be."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    snapshots: Counter[str] = field(default_factory=Counter)


class Judge:
    """Knows the right answers: `digests` by built snapshot and body, and which publication is a copy of which one."""

    def __init__(
        self, digests: Sequence[Sequence[str]], published: Iterable[Publication], kills: Sequence[Kill]
    ) -> None:
        self._digests = digests
        self._order = {publication.name: number for number, publication in enumerate(published)}
        self._base = {publication.name: publication.base for publication in published}
        self._kills = kills

    def fast(self, rows: Iterable[Row], verdict: Verdict) -> None:
        """Judge the journal of one client, whose rows are in the order of time."""
        newest: dict[int, int] = {}
        for row in rows:
            retried = row["attempt"] > 1
            if "error" in row:
                known = self._was_killed(row)
                verdict.counts["connections broken by a kill" if known else "connections broken otherwise"] += 1
                if retried:
                    verdict.wrong.append(f"asked twice and not answered: {row['error']}")
                elif not known:
                    verdict.wrong.append(f"a connection broke that no killed worker held: {row['error']}")
                continue
            verdict.counts["answers"] += 1
            verdict.counts["answers to a second attempt"] += retried
            name = self._answer(row, verdict)
            if name is not None:
                place = self._order[name]
                if place < newest.get(row["port"], 0):
                    verdict.wrong.append(f"{name} answered on a connection on which a newer snapshot had answered")
                newest[row["port"]] = max(place, newest.get(row["port"], 0))

    def slow(self, rows: Iterable[Row], verdict: Verdict) -> None:
        """Judge the journal of the slow clients."""
        for row in rows:
            way = row["way"]
            verdict.counts[f"slow: {way}"] += 1
            if way in WHOLE and "error" in row:
                if self._was_killed(row):
                    verdict.counts["slow connections broken by a kill"] += 1
                else:
                    verdict.wrong.append(f"a client that {way} got no answer: {row['error']}")
            elif way == "drips" and row["status"] == 408 and row["seconds"] > _ARRIVES_S:
                verdict.counts["slow requests that dripped for longer than a server waits"] += 1
            elif way in WHOLE:
                self._answer(row, verdict)
            elif way == "stalls" and row["seconds"] > _STALLED_S:
                verdict.wrong.append(f"a stalled request was held for {row['seconds']:.1f} s")

    def _answer(self, row: Row, verdict: Verdict) -> str | None:
        """Judge one answer; return the snapshot that it names, None where it is wrong."""
        if row["status"] != 200:
            verdict.wrong.append(f"an answer has the status {row['status']}")
            return None
        if len(row["snapshots"]) != 1:
            verdict.wrong.append(f"one answer names {len(row['snapshots'])} snapshots")
            return None
        (name,) = row["snapshots"]
        if name not in self._base:
            verdict.wrong.append(f"an answer names {name}, which was not published")
            return None
        verdict.snapshots[name] += 1
        if row["digest"] != self._digests[self._base[name]][row["body"]]:
            verdict.wrong.append(f"{name} does not answer body {row['body']} as it does alone")
            return None
        return str(name)

    def _was_killed(self, row: Row) -> bool:
        begun = row["at"] - row["seconds"]
        return any(
            row["port"] in kill.ports and kill.at - row["seconds"] - 1 <= begun and row["at"] <= kill.at + _NOTICED_S
            for kill in self._kills
        )


def rollout(published: Sequence[Publication], rows: Sequence[Row]) -> list[tuple[int, float, float]]:
    """Return for publications, by number, the seconds until it answered first, and until an older one was last asked.

    Publications that never answered, because the next one came first, are left out.
    """
    order = {publication.name: number for number, publication in enumerate(published)}
    answered = [
        (row["at"], row["at"] - row["seconds"], order[row["snapshots"][0]])
        for row in rows
        if row.get("snapshots") and row["snapshots"][0] in order
    ]
    found = []
    for number, publication in enumerate(published):
        until = published[number + 1].at if number + 1 < len(published) else float("inf")
        first = min((at for at, _, place in answered if place == number), default=None)
        if number == 0 or first is None:
            continue
        older = (begun for _, begun, place in answered if place < number and publication.at <= begun < until)
        last = max(older, default=publication.at)
        found.append((number, first - publication.at, last - publication.at))
    return found


def slope_per_hour(samples: Sequence[tuple[float, float]]) -> float:
    """Return the median of the slopes between any two samples of (seconds, value), an hour (Theil and Sen).

    Single samples, such as of a worker that has just begun, do not move it. 0 for fewer than two.
    """
    slopes = sorted(
        (later - earlier) / (end - start)
        for number, (start, earlier) in enumerate(samples)
        for end, later in samples[number + 1 :]
        if end > start
    )
    return 3_600 * slopes[len(slopes) // 2] if slopes else 0.0
