"""What does a week of feedback gain? `python -m benchmarks.feedback_week SNAPSHOT=FOLDER… [--seeds N] [--json FILE]`.

Settings that were chosen on some seeds are measured on others: `--first-seed`. `--bias` is the users' own.

Half of FOLDER's judged requests, drawn anew for each seed, are asked by simulated users; the other half are never asked
and measure. Each night a build learns from all days so far, and the next day's answers are its own: the loop is closed.
"clean" users err as `Users` says. In "mistaken" the users of the first two days take the best wrong tool for the right
one in half of their requests. In "hostile" one caller of those days does so, and the others err as usual.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.support.measuring import about
from benchmarks.support.memoized_encoder import Remembering
from benchmarks.support.memoized_retriever import RememberingRetriever
from benchmarks.support.simulated_users import Users, naive_shares
from pipeline.feedback import Answer
from pipeline.learning import PastRequests, learn_from_use
from pipeline.learning.usage.feedback import feedback_lessons
from pipeline.learning.usage.log import PastRequest, UsageLog
from pipeline.progress import SilentProgress
from router import Router, Signal
from router.evaluation import HEADLINE_METRICS, Judgement, judgements_of, read_judgements
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.pointer import snapshot_folder

DAYS = 7
MISTAKEN_DAYS = 2
K = 10
_EXPLORED = 30  # the last place of an explored answer goes to a tool up to this rank
_EXPLORATION = 0.1
_MOST_MEASURED = 200
WORLDS = ("clean", "mistaken", "hostile")
_Learn = Callable[[Sequence[Answer], frozenset[str]], PastRequests]


def _naive(answers: Sequence[Answer], known: frozenset[str]) -> PastRequests:
    requests = tuple(PastRequest(text, shares) for text, shares in naive_shares(answers).items())
    return PastRequests(UsageLog(requests))


def _weighed(answers: Sequence[Answer], known: frozenset[str]) -> PastRequests:
    return PastRequests(UsageLog(), feedback=feedback_lessons(answers, known))


def _alone(answers: Sequence[Answer], known: frozenset[str]) -> PastRequests:
    """As `_weighed`, each request by itself: what near requests say of the same tool does not count."""
    lessons = feedback_lessons(answers, known)
    requests = tuple(replace(past, evidence=None) for past in lessons.requests if past.shares)
    return PastRequests(UsageLog(requests))


@dataclass(frozen=True, slots=True)
class Arm:
    """A way to learn; with `explores`, the last place of every tenth answer goes to a tool further down."""

    name: str
    learn: _Learn | None
    explores: bool = False


ARMS = (
    Arm("no learning", None),
    Arm("calls as truth", _naive),
    Arm("weighed, alone", _alone),
    Arm("weighed", _weighed),
    Arm("weighed, explores", _weighed, explores=True),
)


class Week:
    """A catalog, its users of one seed, and the nights."""

    def __init__(self, snapshot: Snapshot, judgements: Sequence[Judgement], seed: int, asked_a_day: int) -> None:
        self._snapshot, self._seed, self._asked_a_day = snapshot, seed, asked_a_day
        order = np.random.default_rng(seed).permutation(len(judgements))
        self._asked = [judgements[place] for place in order[: len(order) // 2]]
        self._held_out = [judgements[place] for place in order[len(order) // 2 :][:_MOST_MEASURED]]
        self._known = frozenset(record.tool_id for record in Router(snapshot).tools)

    def run(self, arm: Arm, world: str, users: Users) -> list[list[float]]:
        """Return the metrics of the requests that nobody asks: before the first day, then after each night."""
        random = np.random.default_rng(self._seed + 1)
        serving, answers = self._snapshot, list[Answer]()
        found = [self._measure(serving)]
        if arm.learn is None:
            return found * (DAYS + 1)
        for day in range(DAYS):
            router = Router(serving)
            for place in random.integers(len(self._asked), size=self._asked_a_day).tolist():
                hostile = random.random() < 0.5
                answers.append(
                    self._ask(
                        router,
                        self._asked[place],
                        arm,
                        world if day < MISTAKEN_DAYS else "clean",
                        hostile,
                        float(day),
                        users,
                        random,
                    )
                )
            serving = self._build(arm, answers)
            found.append(self._measure(serving))
        return found

    def _ask(
        self,
        router: Router,
        judgement: Judgement,
        arm: Arm,
        world: str,
        hostile: bool,
        at: float,
        users: Users,
        random: np.random.Generator,
    ) -> Answer:
        ids = list(router.route(judgement.request, k=_EXPLORED).ids)
        tools = ids[:K]
        if arm.explores and random.random() < _EXPLORATION and len(ids) > K:
            tools[-1] = ids[int(random.integers(K, len(ids)))]
        wrong = next((tool for tool in tools if tool not in judgement.relevant), None)
        steered = hostile and world != "clean"
        caller = "hostile" if steered and world == "hostile" else "users"
        return users.act(judgement, tools, at, random, wrong if steered else None, caller)

    def _build(self, arm: Arm, answers: Sequence[Answer]) -> Snapshot:
        """Return the next snapshot: the first one with what is learned. It never learns from an earlier signal."""
        assert arm.learn is not None
        past = arm.learn(answers, self._known)
        encoder = self._snapshot.encoder
        assert encoder is not None
        past = replace(past, vectors=encoder.encode_requests([one.request for one in past.requests]))
        intents = learn_from_use(self._snapshot, past, False, SilentProgress()).intents
        if intents is None:
            return self._snapshot
        return replace(self._snapshot, retrievers={**self._snapshot.retrievers, Signal.INTENT: intents.retriever()})

    def _measure(self, snapshot: Snapshot) -> list[float]:
        router = Router(snapshot)
        rankings = [(router.route(judgement.request, k=K).ids, judgement) for judgement in self._held_out]
        return [
            float(np.mean([metric.compute(ids, judgement) for ids, judgement in rankings if metric.applies(judgement)]))
            for metric in HEADLINE_METRICS
        ]


def measure(
    path: Path,
    folder: Path,
    seeds: Sequence[int],
    asked_a_day: int,
    worlds: Sequence[str],
    users: Users,
    arms: Sequence[Arm],
) -> dict[str, Any]:
    """The metrics by world, arm and night: means over the seeds, and the standard error of the gain at the end."""
    opened = Snapshot.open(snapshot_folder(path))
    assert opened.encoder is not None
    retrievers = {signal: RememberingRetriever(retriever) for signal, retriever in opened.retrievers.items()}
    snapshot = replace(opened, encoder=Remembering(opened.encoder, {}), retrievers=retrievers)
    file = judgements_of(folder)
    assert file, f"{folder} holds no judged requests"
    judgements = [one for one in read_judgements(file) if one.kind != "none" and one.relevant]
    weeks = [Week(snapshot, judgements, seed, asked_a_day) for seed in seeds]
    found: dict[str, Any] = {}
    for world in worlds:
        runs = {arm.name: np.array([week.run(arm, world, users) for week in weeks]) for arm in arms}
        found[world] = {name: _figures(table, runs[arms[0].name]) for name, table in runs.items()}
    return found


def _figures(table: NDArray[np.float64], without: NDArray[np.float64]) -> dict[str, Any]:
    """Figures of (seeds, nights, metrics); gains are paired by seed."""
    gain = table - without
    figures: dict[str, Any] = {}
    for column, metric in enumerate(HEADLINE_METRICS):
        last = gain[:, -1, column]
        figures[metric.key] = {
            "by_night": np.round(table[:, :, column].mean(axis=0), 4).tolist(),
            "gain_by_night": np.round(gain[:, :, column].mean(axis=0), 4).tolist(),
            "gain": round(float(last.mean()), 4),
            "gain_by_seed": np.round(last, 4).tolist(),
            "standard_error": round(float(last.std(ddof=1) / len(last) ** 0.5), 4) if len(last) > 1 else None,
        }
    return figures


def tables(found: dict[str, Any]) -> list[Table]:
    """A table for each set and world: the gain in nDCG@10 by night."""
    shown = []
    for name, worlds in found.items():
        for world, by_arm in worlds.items():
            table = Table(title=f"{name}, {world}: nDCG@10 before, and the gain after each night", box=None)
            for head in ("", "before", *(f"night {night}" for night in range(1, DAYS + 1)), "±"):
                table.add_column(head, justify="right" if head else "left")
            for arm, figures in by_arm.items():
                ndcg = figures["ndcg@10"]
                nights = [f"{gain:+.4f}" for gain in ndcg["gain_by_night"][1:]]
                table.add_row(arm, f"{ndcg['by_night'][0]:.4f}", *nights, str(ndcg["standard_error"]))
            shown.append(table)
    return shown


def main() -> None:
    """Measure each pair and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="SNAPSHOT=FOLDER")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--bias", type=float, default=Users().bias, help="Users look at rank j with chance j ** -bias.")
    parser.add_argument("--asked", type=int, default=100, help="Requests a day.")
    parser.add_argument("--world", action="append", choices=WORLDS, help="By default all.")
    names = [arm.name for arm in ARMS]
    parser.add_argument("--arm", action="append", choices=names[1:], help="By default all.")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arms = [arm for arm in ARMS if arm.learn is None or not arguments.arm or arm.name in arguments.arm]
    users, found, snapshots = Users(bias=arguments.bias), {}, {}
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    for pair in arguments.pairs:
        snapshot, _, folder = pair.partition("=")
        name = Path(folder).resolve().name
        snapshots[name] = about(Path(snapshot))
        worlds = arguments.world or WORLDS
        found[name] = measure(Path(snapshot), Path(folder), seeds, arguments.asked, worlds, users, arms)
    console = Console(width=150)
    for table in tables(found):
        console.print(table)
    if arguments.json:
        settings = {"seeds": list(seeds), "asked_a_day": arguments.asked, "bias": users.bias}
        result = {"about": {"sets": snapshots, **settings}, "figures": found}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
