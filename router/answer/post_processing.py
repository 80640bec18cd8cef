"""From what a request finds to the tools of its answer: filtered, reranked, packed, cut to k."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from router.answer.options import Options
from router.answer.packing import pack
from router.answer.reranking import Reranking, RerankingFailed, rerank, text_of
from router.provider_formats import Detail, Form
from router.retrieval.calibration import Verdict
from router.retrieval.recipe import Recipe
from router.search.search import SearchResult
from router.selection import Admission, filtered
from router.snapshot.record_store import Entry
from router.snapshot.snapshot import Snapshot

_DETAILS = list(Detail)
_logger = logging.getLogger("router")
_GENERIC = "empty_if_none_fits goes by a guess: the snapshot's calibration is generic, not fitted to this catalog"
_UNCALIBRATED = "empty_if_none_fits does nothing: the snapshot has no calibration for this recipe"
_SHORTENED = (Detail.FULL, Detail.SHORT)

# An ordinal, the filter's name, what it said.
Out = tuple[int, str, str]


@dataclass(frozen=True)
class PostProcessed:
    """The tools of an answer by their rows in the ranking, in order, each with the detail it is handed over with;
    `always` the ordinals beside them. `out` are candidates that were left out. `tokens` are those of all tools."""

    rows: Sequence[int]
    details: Sequence[Detail]
    always: Sequence[int] = ()
    out: Sequence[Out] = ()
    notes: Sequence[str] = ()
    failed: str = ""
    tokens: int | None = None
    ms: tuple[tuple[str, float], ...] = ()


def post_process(
    snapshot: Snapshot, found: SearchResult, recipe: Recipe, verdict: Verdict | None, options: Options
) -> PostProcessed:
    """The tools of an answer; `verdict` says whether any fits. Raises SettingsInvalid for a combined score without
    vectors."""
    if options.plain:
        rows = range(min(options.k, len(found.ranking)))
        return PostProcessed(rows, [Detail.FULL] * len(rows))
    start = perf_counter()
    always, notes = _always(snapshot, options.selection.always)
    if options.selection.empty_if_none_fits and (verdict is None or not verdict.calibrated):
        notes.append(_GENERIC if verdict else _UNCALIBRATED)
        _warn(snapshot.manifest.snapshot, notes[-1])
    none_fits = verdict is not None and verdict.none_fits
    kept, entries, out = _kept(snapshot, found, recipe, none_fits, always, options)
    ms, failed = [("select", _since(start))], ""
    if options.rerank and kept:
        start = perf_counter()
        try:
            kept = _reranked(options.rerank, found.request.text, options.k, kept, entries)
        except RerankingFailed as error:
            failed = str(error)
        ms.append(("rerank", _since(start)))
    chosen = PostProcessed(kept, (), always, out, notes, failed, None, tuple(ms))
    return _packed(snapshot, chosen, found.ranking.ordinals, options)


@cache
def _warn(snapshot: str, note: str) -> None:
    """Warn once for each snapshot and note."""
    _logger.warning("snapshot %s: %s", snapshot, note)


def _always(snapshot: Snapshot, tool_ids: Sequence[str]) -> tuple[list[int], list[str]]:
    """The ordinals of the tools that every answer has, and a note for each that there is not."""
    found = {tool_id: snapshot.records.ordinal(tool_id) for tool_id in tool_ids}
    notes = [f"always: there is no tool {tool_id!r}" for tool_id, ordinal in found.items() if ordinal is None]
    return [ordinal for ordinal in found.values() if ordinal is not None], notes


def _kept(
    snapshot: Snapshot, found: SearchResult, recipe: Recipe, none_fits: bool, always: Sequence[int], options: Options
) -> tuple[list[int], list[Entry], list[Out]]:
    """The candidates that the selection keeps, by row and best first, their entries where a reranker reads them, and
    those that it left out."""
    selection, ordinals = options.selection, found.ranking.ordinals
    first = selection.pool(options.k)
    if options.rerank:
        first = max(first, options.rerank.candidates(options.k))
    within = range(min(first + len(always), len(ordinals)))
    beside = frozenset(always)
    pool = [row for row in within if int(ordinals[row]) not in beside][:first]
    if none_fits and selection.empty_if_none_fits:
        said = "no tool is likely to fit the request"
        return [], [], [(int(ordinals[row]), "none fits", said) for row in pool[: options.k]]
    if not selection.scores and not options.rerank:
        return pool, [], []
    entries = [snapshot.records.entry(int(ordinals[row])) for row in pool]
    if not selection.scores:
        return pool, entries, []

    def cosines() -> NDArray[np.float64] | None:
        if found.request.moved is None or snapshot.dense is None:
            return None
        return snapshot.dense.similarities(found.request.moved, ordinals[pool], recipe.dense_view)

    records = [entry.record for entry in entries]
    kept = filtered(selection, found.request.text, options.category, records, cosines)
    out = [(int(ordinals[pool[place]]), by, said) for place, by, said in kept.refused]
    return [pool[place] for place in kept.places], [entries[place] for place in kept.places], out


def _packed(snapshot: Snapshot, chosen: PostProcessed, ordinals: NDArray[np.int64], options: Options) -> PostProcessed:
    """The first k of the candidates, or those that fit the budget, and of them as many as the provider takes."""
    cap = None if options.form is None else options.form.spec.limits.cap
    limit = options.k if cap is None else min(options.k, max(cap - len(chosen.always), 0))
    always = [options.detail] * len(chosen.always)
    if options.token_budget is None:
        rows, out = chosen.rows[:limit], _capped(chosen.rows[limit : options.k], ordinals, options.form, cap)
        return replace(chosen, rows=rows, details=always + [options.detail] * len(rows), out=[*chosen.out, *out])
    form = options.form or Form.OPENAI
    spent = int(snapshot.tokens.of(form, chosen.always)[:, _DETAILS.index(options.detail)].sum())
    left = options.token_budget - spent
    if left < 1 or limit < 1:
        why = f"the tools in `always` take {spent:,} of {options.token_budget:,} tokens"
        out = [(int(ordinals[row]), "budget", why) for row in chosen.rows[: options.k]]
        return replace(chosen, rows=(), details=always, out=[*chosen.out, *out], tokens=spent)
    allowed = _SHORTENED if options.shorten and options.detail is Detail.FULL else (options.detail,)
    packing = pack(snapshot.tokens.of(form, ordinals[list(chosen.rows)]), left, limit, allowed)
    out = [(int(ordinals[chosen.rows[skipped.position]]), "budget", skipped.reason) for skipped in packing.skipped]
    if len(packing.positions) == limit < options.k:
        past = packing.positions[-1] + 1
        out += _capped(chosen.rows[past : options.k], ordinals, options.form, cap)
    return replace(
        chosen,
        rows=[chosen.rows[position] for position in packing.positions],
        details=[*always, *packing.details],
        out=[*chosen.out, *out],
        tokens=spent + packing.tokens,
    )


def _capped(rows: Sequence[int], ordinals: NDArray[np.int64], form: Form | None, cap: int | None) -> list[Out]:
    """Candidates past a provider's cap."""
    return [(int(ordinals[row]), "cap", f"{form} takes at most {cap} tools") for row in rows]


def left_out(admission: Admission, unfiltered: SearchResult, k: int, always: Sequence[int]) -> list[Out]:
    """The tools of the first k of a search without filters that filters kept from being found; those of every answer
    are in it all the same."""
    refused = [(ordinal, admission.refusal(ordinal)) for ordinal in unfiltered.ranking.ordinals[:k].tolist()]
    return [(ordinal, *why) for ordinal, why in refused if why is not None and ordinal not in always]


def _reranked(reranking: Reranking, request: str, k: int, pool: Sequence[int], entries: Sequence[Entry]) -> list[int]:
    """The best of the pool in the reranker's order, and behind them the others as they were."""
    count = reranking.candidates(k)
    order = rerank(reranking.scorer, request, [text_of(entry.record, entry.phrases) for entry in entries[:count]]).order
    return [*(pool[place] for place in order), *pool[count:]]


def _since(start: float) -> float:
    return 1_000 * (perf_counter() - start)
