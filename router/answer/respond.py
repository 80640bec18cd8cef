"""A request answered by one snapshot: what it finds, what of that is chosen, each tool with its reasons."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from router.answer.explanation import Explanation, also_from
from router.answer.options import Options, recipe_of
from router.answer.post_processing import PostProcessed, left_out, post_process
from router.answer.results import Dropped, RoutedTool, RoutedTools
from router.errors import NothingSelected, RequestInvalid
from router.provider_formats import Form
from router.query.steps import Steps, find_steps
from router.retrieval.calibration import FitEstimate
from router.retrieval.recipe import Recipe
from router.retrieval.retrievers import Admitted
from router.search.conversation import UserMessages, combine_messages
from router.search.search import (
    SearchResult,
    clean_request,
    collapse_duplicates,
    estimate_fit,
    needed_encoder,
    rank,
    search,
)
from router.selection import admit
from router.snapshot.cached_encoder import with_request_cache
from router.snapshot.snapshot import Snapshot


def answer(snapshot: Snapshot, said: UserMessages, options: Options) -> RoutedTools:
    """The tools that best fit a clean request.

    Raises NothingSelected where none is left and the selection wants an error then, SettingsInvalid for a combined
    score without vectors.
    """
    recipe, selection = recipe_of(snapshot, options.recipe), options.selection
    start = perf_counter()
    admission = admit(lambda: snapshot.records.facets, selection, options.category, options.confidence)
    heard = _heard(snapshot, said, recipe, admission.admitted)
    found = _together(snapshot, heard, recipe)
    verdict = _fit(snapshot, heard, recipe)
    searched = perf_counter()
    chosen = post_process(snapshot, found, recipe, verdict, options)
    out = list(chosen.out)
    if options.explain and admission.filters:
        unfiltered = _together(snapshot, _heard(snapshot, said, recipe, None), recipe)
        out = left_out(admission, unfiltered, options.k, chosen.always) + out
    if not chosen.rows and not selection.fallback_to_empty:
        raise NothingSelected(_why_nothing(len(found.ranking), out))
    tools = _tools(snapshot, found, chosen, options.explain)
    ended = perf_counter()
    count = len(chosen.always)
    return RoutedTools(
        tools=tools[count:],
        snapshot=snapshot.manifest.snapshot,
        recipe=recipe.name,
        fits=verdict.fits if verdict else None,
        none_fits=verdict is not None and verdict.none_fits,
        calibrated=verdict is not None and verdict.calibrated,
        steps=_steps_of(found, said),
        always=tools[:count],
        dropped=tuple(Dropped(snapshot.records.tool_id(ordinal), by, reason) for ordinal, by, reason in out),
        notes=(*admission.notes, *chosen.notes),
        failed=chosen.failed,
        overlay=snapshot.overlay.revision,
        form=options.form or Form.OPENAI,
        tokens=chosen.tokens,
        ms={"find": 1_000 * (searched - start), **dict(chosen.ms), "all": 1_000 * (ended - start)},
    )


def with_vectors(snapshot: Snapshot, requests: Sequence[str], recipe: Recipe) -> Snapshot:
    """The snapshot with the vectors of these clean requests, and of their steps, at hand: made in batches."""
    if not requests or needed_encoder(snapshot, recipe) is None:
        return snapshot
    steps = [find_steps(request) if recipe.steps else Steps() for request in requests]
    ahead = with_request_cache(snapshot, len(requests) + sum(map(len, steps)))
    if ahead.encoder is None:
        return snapshot
    texts: list[str] = []
    for request, found in zip(requests, steps, strict=True):
        if not found or ahead.encoder.encode_parts(found.request, found.spans) is None:
            texts += [request, *found.texts]
    ahead.encoder.encode_requests(texts)
    return ahead


def explanation(snapshot: Snapshot, request: str, tool_id: str, recipe: Recipe) -> tuple[RoutedTool, int | None]:
    """A tool with its rank in every whole list, and its fused rank; raises RequestInvalid where there is none such."""
    ordinal = snapshot.records.ordinal(tool_id)
    if ordinal is None:
        raise RequestInvalid(f"the snapshot {snapshot.manifest.snapshot} has no tool {tool_id!r}")
    # A tool that stands under its twin has a place of its own here.
    found = search(snapshot, clean_request(request), replace(recipe, collapse=False))
    place = found.ranking.rank_of(ordinal)
    score = float(found.ranking.scores[place - 1]) if place else 0.0
    whole = rank(snapshot, found.query, recipe, max(len(snapshot.records), 1))
    return Explanation(snapshot, found, whole, [ordinal]).tool(ordinal, score), place


def _heard(snapshot: Snapshot, said: UserMessages, recipe: Recipe, admitted: Admitted | None) -> list[SearchResult]:
    """What each message finds, the latest first; where there are several, with duplicates apart."""
    apart = replace(recipe, collapse=False) if said.earlier else recipe
    return [search(snapshot, text, apart, admitted) for text in (said.latest, *said.earlier)]


def _together(snapshot: Snapshot, heard: Sequence[SearchResult], recipe: Recipe) -> SearchResult:
    """What the latest message finds, with those before it."""
    latest, *earlier = heard
    return collapse_duplicates(snapshot, combine_messages(latest, earlier), recipe) if earlier else latest


def _fit(snapshot: Snapshot, heard: Sequence[SearchResult], recipe: Recipe) -> FitEstimate | None:
    """Whether a tool fits some message: no tool fits "and the same for Bob" alone."""
    verdicts = [verdict for found in heard if (verdict := estimate_fit(snapshot, found, recipe))]
    return max(verdicts, key=lambda verdict: (not verdict.none_fits, verdict.fits), default=None)


def _tools(snapshot: Snapshot, found: SearchResult, chosen: PostProcessed, explain: bool) -> tuple[RoutedTool, ...]:
    """The tools of an answer: those of `always`, then the ranked ones."""
    rows = list(chosen.rows)
    ordinals = [*chosen.always, *found.ranking.ordinals[rows].tolist()]
    scores = [*(_score(found, ordinal) for ordinal in chosen.always), *found.ranking.scores[rows].tolist()]
    reasons = Explanation(snapshot, found, found.rankings, ordinals) if explain else None
    made = []
    for ordinal, score, detail in zip(ordinals, scores, chosen.details, strict=True):
        if reasons is not None:
            tool = reasons.tool(ordinal, score)
        else:
            record = snapshot.records.entry(ordinal).record
            tool = RoutedTool(record.tool_id, record, score, also_from=also_from(snapshot, found, ordinal))
        made.append(tool if detail is tool.detail else replace(tool, detail=detail))
    return tuple(made)


def _score(found: SearchResult, ordinal: int) -> float:
    """The fused score of a tool; 0 where no list has it."""
    ranking = found.covered.ranking if found.covered else found.whole  # with duplicates that stand under another
    place = ranking.rank_of(ordinal)
    return float(ranking.scores[place - 1]) if place else 0.0


def _steps_of(found: SearchResult, said: UserMessages) -> tuple[str, ...]:
    """The steps of the latest message, without the messages before it."""
    return found.steps.texts[: len(found.steps) - len(said.earlier)]


def _why_nothing(count: int, out: Sequence[tuple[int, str, str]]) -> str:
    if not count:
        return "no tool that the selection allows has anything in common with the request"
    by = ", ".join(
        f"{sum(which == name for _, which, _ in out)} by {name}" for name in dict.fromkeys(b for _, b, _ in out)
    )
    return f"every tool that was found is left out: {by or 'all of them are in `always`'}"
