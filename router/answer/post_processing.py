"""From a search result to the tools of an answer: filtered, reranked, packed into the budget, cut to k."""

import logging
from collections.abc import Sequence
from functools import cache
from time import perf_counter
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from router.answer.options import CheckedOptions
from router.answer.packing import best_of_needs, first_rows, own_order, pack
from router.answer.reranking import Reranking, RerankingFailed, rerank, text_of
from router.provider_formats.formats import Detail, ProviderFormat
from router.retrieval.no_answer_calibration import FitEstimate
from router.retrieval.recipe import Recipe
from router.search.search import SearchResult
from router.selection.admission import Admission
from router.selection.filtering import filter_candidates
from router.snapshot.record_store import ToolEntry
from router.snapshot.snapshot import Snapshot

_DETAILS = list(Detail)
_logger = logging.getLogger("router")
_GENERIC = "empty_if_none_fits goes by a guess: the snapshot's calibration is generic, not fitted to this catalog"
_UNCALIBRATED = "empty_if_none_fits does nothing: the snapshot has no calibration for this recipe"
_SHORTENED = (Detail.FULL, Detail.SHORT)


class Exclusion(NamedTuple):
    """A tool that was left out, by ordinal: `by` names the filter, the budget or the cap, `reason` is a sentence."""

    ordinal: int
    by: str
    reason: str


class PostProcessingResult(msgspec.Struct, frozen=True):
    """The tools of an answer by their rows in the ranking, in order; `always` are the ordinals of those beside them.

    `details` are those of the tools of `always`, then of the rows. `excluded` are the candidates that were left out.
    `tokens` are those of all tools, where there is a budget. `ms` are milliseconds by stage.
    """

    rows: Sequence[int]
    details: Sequence[Detail]
    always: Sequence[int] = ()
    excluded: Sequence[Exclusion] = ()
    notes: Sequence[str] = ()
    failed: str = ""
    tokens: int | None = None
    ms: tuple[tuple[str, float], ...] = ()


def post_process(
    snapshot: Snapshot, result: SearchResult, recipe: Recipe, verdict: FitEstimate | None, options: CheckedOptions
) -> PostProcessingResult:
    """Return the tools of an answer. `verdict` says whether any tool fits, None where that is unknown.

    Raises SettingsInvalid for a combined score without vectors.
    """
    if options.plain:
        enough = range(min(options.k + len(result.score_boosts), len(result.ranking)))
        first = first_rows(result, enough, options.k)
        return PostProcessingResult(first, [Detail.FULL] * len(first))
    start = perf_counter()
    always, notes = _always(snapshot, options.selection.always)
    if options.selection.empty_if_none_fits and (verdict is None or not verdict.calibrated):
        notes.append(_GENERIC if verdict else _UNCALIBRATED)
        _warn(snapshot.manifest.snapshot, notes[-1])
    none_fits = verdict is not None and verdict.none_fits
    candidates, entries, excluded = _filter(snapshot, result, recipe, none_fits, always, options)
    ms, failed = [("select", _since(start))], ""
    if options.rerank and candidates:
        start = perf_counter()
        try:
            candidates = _reranked(options.rerank, result.query.text, options.k, candidates, entries)
        except RerankingFailed as error:
            failed = str(error)
        ms.append(("rerank", _since(start)))
    if options.selection.weights.any_set or (options.rerank and not failed):
        result = replace(result, score_boosts={}, own_ranking=None)  # another order decides who has the places
    draft = PostProcessingResult(candidates, (), always, excluded, notes, failed, None, tuple(ms))
    if options.token_budget is None:
        return _capped(draft, result, options)
    return _packed(snapshot, draft, result, options, options.token_budget)


@cache
def _warn(snapshot: str, note: str) -> None:
    """Warn once for each snapshot and note."""
    _logger.warning("snapshot %s: %s", snapshot, note)


def _always(snapshot: Snapshot, tool_ids: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the ordinals of the tools that every answer has, and a note for each unknown id."""
    ordinals = {tool_id: snapshot.records.ordinal(tool_id) for tool_id in tool_ids}
    notes = [f"always: no tool has the id {tool_id!r}" for tool_id, ordinal in ordinals.items() if ordinal is None]
    return [ordinal for ordinal in ordinals.values() if ordinal is not None], notes


def _filter(
    snapshot: Snapshot,
    result: SearchResult,
    recipe: Recipe,
    none_fits: bool,
    always: Sequence[int],
    options: CheckedOptions,
) -> tuple[list[int], list[ToolEntry], list[Exclusion]]:
    """Return the candidates that the selection keeps, by row and best first, and those that it leaves out.

    The entries are those of the kept candidates, and empty where neither the selection nor a reranker reads them.
    """
    selection, ordinals = options.selection, result.ranking.ordinals
    size = selection.pool(options.k)
    if options.rerank:
        size = max(size, options.rerank.candidates(options.k))
    always_set = frozenset(always)
    best = range(min(size + len(always), len(ordinals)))
    pool = [row for row in best if int(ordinals[row]) not in always_set][:size]
    if none_fits and selection.empty_if_none_fits:
        reason = "no tool is likely to fit the request"
        return [], [], [Exclusion(int(ordinals[row]), "none fits", reason) for row in pool[: options.k]]
    if not selection.scores and not options.rerank:
        return pool, [], []
    entries = [snapshot.records.entry(int(ordinals[row])) for row in pool]
    if not selection.scores:
        return pool, entries, []

    def cosines() -> NDArray[np.float64] | None:
        if result.query.adapted_vector is None or snapshot.dense is None:
            return None
        return snapshot.dense.similarities(result.query.adapted_vector, ordinals[pool], recipe.dense_view)

    records = [entry.record for entry in entries]
    kept = filter_candidates(selection, result.query.text, options.category, records, cosines)
    excluded = [Exclusion(int(ordinals[pool[place]]), by, reason) for place, by, reason in kept.refused]
    return [pool[place] for place in kept.places], [entries[place] for place in kept.places], excluded


def _reranked(
    reranking: Reranking, request: str, k: int, pool: Sequence[int], entries: Sequence[ToolEntry]
) -> list[int]:
    """Return the best of the pool in the reranker's order, and behind them the others as they were."""
    count = reranking.candidates(k)
    order = rerank(reranking.scorer, request, [text_of(entry.record, entry.phrases) for entry in entries[:count]]).order
    return [*(pool[place] for place in order), *pool[count:]]


def _capped(draft: PostProcessingResult, result: SearchResult, options: CheckedOptions) -> PostProcessingResult:
    """Return the first k candidates, and of them as many as the provider accepts."""
    limit = _limit(draft, options)
    rows = first_rows(result, draft.rows, limit)
    beyond = _beyond_cap(draft.rows[limit : options.k], result, options.form)
    details = [options.detail] * (len(draft.always) + len(rows))
    return replace(draft, rows=rows, details=details, excluded=[*draft.excluded, *beyond])


def _packed(
    snapshot: Snapshot, draft: PostProcessingResult, result: SearchResult, options: CheckedOptions, budget: int
) -> PostProcessingResult:
    """Return the candidates that fit the budget, and of them as many as the provider accepts.

    Brought tools have the places that they would have without a budget, but only tokens that the others leave.
    """
    form, limit, ordinals = options.form or ProviderFormat.OPENAI, _limit(draft, options), result.ranking.ordinals
    always = [options.detail] * len(draft.always)
    spent = int(snapshot.tokens.of(form, draft.always, options.vendor_text)[:, _DETAILS.index(options.detail)].sum())
    left = budget - spent
    if left < 1 or limit < 1:
        reason = f"the tools in `always` take {spent:,} of {budget:,} tokens"
        excluded = [Exclusion(int(ordinals[row]), "budget", reason) for row in draft.rows[: options.k]]
        return replace(draft, rows=(), details=always, excluded=[*draft.excluded, *excluded], tokens=spent)
    allowed = _SHORTENED if options.shorten and options.detail is Detail.FULL else (options.detail,)
    own = own_order(result, draft.rows)
    shown = frozenset(first_rows(result, draft.rows, limit))
    brought = [position for position in range(limit, len(own)) if own[position] in shown]
    best = best_of_needs(result)
    first = [position for position, row in enumerate(own[:limit]) if int(ordinals[row]) in best]
    packed = pack(snapshot.tokens.of(form, ordinals[own], options.vendor_text), left, limit, allowed, brought, first)
    excluded = [Exclusion(int(ordinals[own[out.position]]), "budget", out.reason) for out in packed.skipped]
    if len(packed.positions) == limit < options.k:
        behind = packed.positions[-1] + 1
        excluded += _beyond_cap(own[behind : options.k], result, options.form)
    details = {own[position]: detail for position, detail in zip(packed.positions, packed.details, strict=True)}
    rows = [row for row in draft.rows if row in details]
    return replace(
        draft,
        rows=rows,
        details=[*always, *(details[row] for row in rows)],
        excluded=[*draft.excluded, *excluded],
        tokens=spent + packed.tokens,
    )


def _limit(draft: PostProcessingResult, options: CheckedOptions) -> int:
    """Return how many ranked tools an answer may have: k, or what the provider's cap leaves beside `always`."""
    cap = None if options.form is None else options.form.spec.cap
    return options.k if cap is None else min(options.k, max(cap - len(draft.always), 0))


def _beyond_cap(rows: Sequence[int], result: SearchResult, form: ProviderFormat | None) -> list[Exclusion]:
    """Return the candidates that the provider's cap leaves out."""
    if form is None:
        return []
    reason = f"{form} takes at most {form.spec.cap} tools"
    return [Exclusion(int(result.ranking.ordinals[row]), "cap", reason) for row in rows]


def tools_kept_out(admission: Admission, unfiltered: SearchResult, k: int, always: Sequence[int]) -> list[Exclusion]:
    """Return the tools of the first k of a search without filters that a filter kept out, except those of `always`."""
    refusals = [(ordinal, admission.refusal(ordinal)) for ordinal in unfiltered.ranking.ordinals[:k].tolist()]
    return [Exclusion(ordinal, *why) for ordinal, why in refusals if why is not None and ordinal not in always]


def _since(start: float) -> float:
    """Return the milliseconds since a `perf_counter` time."""
    return 1_000 * (perf_counter() - start)
