"""The judged gate: a new snapshot and the one that serves answer the catalog's judged requests; beyond chance worse,
and the new one must not serve. It is measured before it is sealed, so that its manifest says so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import SettingsInvalid, SnapshotInvalid
from pipeline.progress import Progress
from pipeline.publish.gate import setting
from pipeline.settings import PublishSettings
from router import Router
from router.evaluation import (
    HEADLINE_METRICS,
    Difference,
    Judgement,
    ask,
    compared,
    comparison_row,
    read_judgements,
    unknown_tools,
)

_NAMED = 3  # tools that a reason names


@dataclass(frozen=True, slots=True)
class Judged:
    """What the judgements say of a snapshot: why it must not serve yet, and its evaluation for the manifest."""

    held: tuple[str, ...]
    evaluation: Mapping[str, Any] | None


UNJUDGED = Judged((), None)


def judge(
    new: Router, serving: Path | None, judgements: Path | None, settings: PublishSettings, progress: Progress
) -> Judged:
    """Measure a snapshot, and beside it the one that serves, each by its own recipe.

    `judgements` is a catalog's file of judged requests, None where it has none. What keeps a comparison from being
    made (a file that cannot be read, a snapshot of another format) is noted, and holds nothing back: a catalog must
    get on after an update.
    """
    if judgements is None or not settings.judged:
        return UNJUDGED
    try:
        requests = read_judgements(judgements)
    except SettingsInvalid as error:
        progress.note(f"the new snapshot was not measured: {error}")
        return UNJUDGED
    old = _open(serving, progress)
    # A request whose tools neither snapshot has is about another catalog.
    asked = [j for j in requests if j.kind != "none" and any(_has(j, router) for router in (new, old) if router)]
    if not asked:
        return UNJUDGED
    drawn = _evenly(asked, settings.max_judged)
    progress.start("evaluate", len(drawn) * (2 if old else 1))
    measured = ask(new, drawn, whole=False, advance=progress.advance)
    evaluation = {**comparison_row(measured), "requests": len(drawn), "of": len(asked)}
    if old is None:
        return Judged((), evaluation)
    before = ask(old, drawn, whole=False, advance=progress.advance)
    losses = _losses(compared(measured, before), settings)
    evaluation["serving"] = comparison_row(before)
    if not losses:
        return Judged((), evaluation)
    gone = [tool_id for tool_id in unknown_tools(measured) if old.record(tool_id)]
    return Judged((_reason(losses, evaluation, gone, settings),), evaluation)


def _open(serving: Path | None, progress: Progress) -> Router | None:
    if serving is None:
        return None
    try:
        return Router.open(serving)
    except SnapshotInvalid as error:
        progress.note(f"the new snapshot was not compared with the one that serves: {error}")
        return None


def _has(judgement: Judgement, router: Router) -> bool:
    return any(router.record(tool_id) for tool_id in judgement.tools)


def _evenly(requests: Sequence[Judgement], most: int) -> list[Judgement]:
    """At most so many, from the whole of the file: the same each time, whatever order its sorts stand in."""
    count = min(most, len(requests))
    return [requests[position * len(requests) // count] for position in range(count)]


def _losses(apart: Mapping[str, Difference | None], settings: PublishSettings) -> dict[str, Difference]:
    return {
        metric.key: found
        for metric in HEADLINE_METRICS
        if (found := apart[metric.key]) is not None
        and found.difference < -settings.smallest_loss
        and found.p < settings.significance
    }


def _reason(
    losses: Mapping[str, Difference], evaluation: Mapping[str, Any], gone: Sequence[str], settings: PublishSettings
) -> str:
    now, serving = evaluation["metrics"], evaluation["serving"]
    figures = ", ".join(
        f"{metric} {now[metric]:.3f} after {serving['metrics'][metric]:.3f} (p {_p(loss.p)})"
        for metric, loss in losses.items()
    )
    reason = (
        f"worse beyond chance than {serving['snapshot']}, which serves, on {evaluation['requests']:,} judged requests: "
        f"{figures}; {setting('significance')} is {settings.significance:g}"
    )
    if gone:
        told = ", ".join(gone[:_NAMED]) + (", …" if len(gone) > _NAMED else "")
        reason += f"; {len(gone):,} judged tools are no longer in the catalog: {told}"
    return reason


def _p(p: float) -> str:
    return "< .001" if p < 0.001 else f"= {p:.3f}"
