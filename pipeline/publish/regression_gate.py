"""The regression gate: a snapshot that answers judged requests worse than what serves, beyond chance, is held."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from pipeline.errors import SettingsInvalid, SnapshotInvalid
from pipeline.progress import Progress
from pipeline.publish.gates import setting
from pipeline.sentences import named
from pipeline.settings import PublishSettings
from quartermaster.evaluation import (
    HEADLINE_METRICS,
    Difference,
    Judgement,
    ask,
    compared,
    comparison_row,
    read_judgements,
    unknown_tools,
)
from quartermaster.evaluation.causes.missed_step import missed_places
from quartermaster.evaluation.measurement import Measurement, following
from router import Router

_MAX_EXAMPLES, _MAX_EXAMPLE = 8, 120  # examples in the manifest, and characters of one
_MOST_MISSED, _MAX_MISSED = 50, 300  # missed requests in the manifest, and characters of one


@dataclass(frozen=True, slots=True)
class RegressionCheck:
    """The result of the regression gate: the reasons against serving, and the evaluation for the manifest."""

    held: tuple[str, ...]
    evaluation: Mapping[str, Any] | None


NOT_MEASURED = RegressionCheck((), None)


def check_regression(
    new: Router, serving: Path | None, judgements: Path | None, settings: PublishSettings, progress: Progress
) -> RegressionCheck:
    """Measure a snapshot and the one that serves, each by its own recipe.

    `judgements` is the file of judged requests, None where there is none. A file that cannot be read and a serving
    snapshot of another format are noted and hold nothing back: a catalog must be buildable after an update.
    """
    if judgements is None or not settings.judged:
        return NOT_MEASURED
    try:
        requests = following(read_judgements(judgements), new)
    except SettingsInvalid as error:
        progress.note(f"the new snapshot was not measured: {error}")
        return NOT_MEASURED
    old = _open(serving, progress)
    # A request whose tools neither snapshot has is about another catalog.
    routers = [router for router in (new, old) if router]
    known = [j for j in requests if j.kind != "none" and any(r.record(t) for r in routers for t in j.tools)]
    if not known:
        return NOT_MEASURED
    sample = _evenly(known, settings.max_judged)
    progress.start("evaluate", len(sample) * (2 if old else 1))
    measured = ask(new, sample, whole=False, advance=progress.advance)
    evaluation = {**comparison_row(measured), "requests": len(sample), "of": len(known), "examples": _examples(sample)}
    evaluation |= _missed(measured)
    if old is None:
        return RegressionCheck((), evaluation)
    before = ask(old, sample, whole=False, advance=progress.advance)
    losses = _losses(compared(measured, before), settings)
    evaluation["serving"] = comparison_row(before)
    if not losses:
        return RegressionCheck((), evaluation)
    gone = [tool_id for tool_id in unknown_tools(measured) if old.record(tool_id)]
    return RegressionCheck((_reason(losses, evaluation, gone, settings),), evaluation)


def _open(serving: Path | None, progress: Progress) -> Router | None:
    if serving is None:
        return None
    try:
        return Router.open(serving)
    except SnapshotInvalid as error:
        progress.note(f"the new snapshot was not compared with the one that serves: {error}")
        return None


def _evenly(requests: Sequence[Judgement], most: int) -> list[Judgement]:
    """Return at most `most` requests, spread evenly over the file: the same ones each time."""
    count = min(most, len(requests))
    return [requests[position * len(requests) // count] for position in range(count)]


def _examples(requests: Sequence[Judgement]) -> list[str]:
    """Return a few short requests of different slices, for people who want to try the catalog."""
    by_slice: dict[str, list[str]] = {}
    for judgement in requests:
        if len(judgement.request) <= _MAX_EXAMPLE:
            by_slice.setdefault(judgement.slice, []).append(judgement.request)
    in_turn = chain.from_iterable(zip_longest(*by_slice.values()))
    return list(islice((request for request in in_turn if request is not None), _MAX_EXAMPLES))


def _missed(measured: Measurement) -> dict[str, Any]:
    """Return how many requests leave a step unmet, and the first of them with the tools of those steps."""
    missed = [(one.judgement, places) for one in measured.results if (places := missed_places(one))]
    rows = [
        {"request": asked.request[:_MAX_MISSED], "tools": [min(asked.steps[place]) for place in places]}
        for asked, places in missed[:_MOST_MISSED]
    ]
    return {"missed_requests": len(missed), "missed": rows}


def _losses(differences: Mapping[str, Difference | None], settings: PublishSettings) -> dict[str, Difference]:
    return {
        metric.key: difference
        for metric in HEADLINE_METRICS
        if (difference := differences[metric.key]) is not None
        and difference.difference < -settings.smallest_loss
        and difference.p < settings.significance
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
        reason += f"; {len(gone):,} judged tools are no longer in the catalog: {named(gone)}"
    return reason


def _p(p: float) -> str:
    return "< .001" if p < 0.001 else f"= {p:.3f}"
