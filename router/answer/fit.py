"""Whether some tool fits a request: the whole of a dialogue, and its latest message."""

from collections.abc import Iterable, Sequence

from router.retrieval.no_answer_calibration import FitEstimate
from router.retrieval.recipe import Recipe
from router.search.conversation import is_follow_up, speaks_for_itself
from router.search.search import SearchResult, estimate_fit
from router.snapshot.snapshot import Snapshot

_SURE = 0.9  # see docs/decisions/steps.md


def estimate_fits(
    snapshot: Snapshot, results: Sequence[SearchResult], recipe: Recipe
) -> tuple[FitEstimate | None, FitEstimate | None]:
    """Return the verdicts on a dialogue and on its latest message. `results` are by message, the latest first.

    That on a dialogue is that on the message that a tool fits best. A latest message that no tool fits by itself, but
    that follows up an earlier one ("and the same for Bob"), has the verdict on that one.
    """
    verdicts = [estimate_fit(snapshot, result, recipe) for result in results]
    return _best(verdicts), _of_latest(snapshot, results, verdicts, recipe)


def _of_latest(
    snapshot: Snapshot, results: Sequence[SearchResult], verdicts: Sequence[FitEstimate | None], recipe: Recipe
) -> FitEstimate | None:
    own = verdicts[0]
    if own is None or not own.none_fits:
        return own
    for earlier, verdict in zip(results[1:], verdicts[1:], strict=True):
        if verdict is not None and not verdict.none_fits and is_follow_up(snapshot, results[0], earlier, recipe):
            return verdict
        if speaks_for_itself(earlier):
            break  # what was said before it is done with
    return own


def with_needs(verdict: FitEstimate | None, of_needs: Iterable[FitEstimate | None]) -> FitEstimate | None:
    """Return the verdict on a request, or where no tool fits it, that on a need that one surely fits.

    A model states needs for every request, and some tool nearly fits each: the request's own verdict is the better.
    """
    best = _best(of_needs)
    sure = best is not None and not best.none_fits and best.fits >= _SURE
    return best if sure and verdict is not None and verdict.none_fits else verdict


def _best(verdicts: Iterable[FitEstimate | None]) -> FitEstimate | None:
    """Return the verdict on what a tool fits best."""
    known = [verdict for verdict in verdicts if verdict is not None]
    return max(known, key=lambda verdict: (not verdict.none_fits, verdict.fits), default=None)
