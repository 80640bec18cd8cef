"""From a request to its answer: search, post-processing, and each tool with its reasons."""

import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace
from time import perf_counter

from msgspec import structs

from router.answer.explanation import Explainer, also_from, explain_reading, name_dependents
from router.answer.fit import estimate_fits, with_needs
from router.answer.options import CheckedOptions, recipe_of
from router.answer.post_processing import Exclusion, PostProcessingResult, post_process, tools_kept_out
from router.answer.results import Dropped, RoutedTool, RoutedTools
from router.answer.tracing import route_span
from router.errors import NothingSelected, RequestInvalid
from router.provider_formats.formats import ProviderFormat
from router.query.needs import clean_needs, supposed_needs
from router.retrieval.recipe import Recipe
from router.retrieval.retrievers import Admitted
from router.search.conversation import Message, UserMessages, combine_messages, user_messages
from router.search.search import SearchResult, clean_request, complete, estimate_fit, needed_encoder, search, steps_of
from router.selection.admission import Admission, admit
from router.snapshot.cached_encoder import with_request_cache
from router.snapshot.snapshot import Snapshot
from router.typed import converted


def respond(snapshot: Snapshot, request: str | Sequence[Message], options: CheckedOptions) -> RoutedTools:
    """Return the answer to one request, traced. Raises what `Router.route` raises."""
    with route_span(request, options.k) as record:
        latest_first = user_messages(request)
        messages = UserMessages(clean_request(latest_first.latest), tuple(map(clean_request, latest_first.earlier)))
        if options.needs is None and options.ask_needs is not None:
            needs = supposed_needs(options.ask_needs, messages.latest)
        else:
            needs = clean_needs(options.needs or (), messages.latest)
        record(routed := _answer(snapshot, messages, needs, options))
    return routed


def respond_many(
    snapshot: Snapshot, requests: Sequence[str], needs: Sequence[Sequence[str]], options: CheckedOptions
) -> list[RoutedTools]:
    """Return the answers to many requests, in their order. They and their steps are encoded first, in batches.

    `needs` are those of each request; empty where none has any. Raises RequestInvalid, with its place, for a request
    that cannot be answered, before any is.
    """
    if isinstance(requests, str):
        raise RequestInvalid("requests is a single text, it must be a sequence of texts: `route` takes one")
    if not isinstance(requests, Collection):
        raise RequestInvalid(f"requests is {requests!r:.80}, it must be a sequence of texts")
    needs = converted(needs, tuple[tuple[str, ...], ...], error=RequestInvalid, place="needs", whole="")
    if needs and len(needs) != len(requests):
        sides = ((len(needs), "list"), (len(requests), "request"))
        lists, texts = (f"{count} {noun}{'s' * (count != 1)}" for count, noun in sides)
        raise RequestInvalid(f"needs holds {lists} for {texts}: give one a request")
    asked = [_clean_at(*one) for one in zip(itertools.count(), requests, needs or itertools.repeat(()))]
    snapshot = _with_encoded(snapshot, asked, recipe_of(snapshot, options.recipe))
    answers = []
    for request, stated in asked:
        with route_span(request, options.k) as record:
            answers.append(_answer(snapshot, UserMessages(request), stated, options))
            record(answers[-1])
    return answers


def _clean_at(place: int, request: str, needs: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return a request and its needs, cleaned. Raises RequestInvalid, with its place among the requests."""
    if not isinstance(request, str):
        raise RequestInvalid(f"requests[{place}] is {request!r}, it must be a text")
    try:
        return (cleaned := clean_request(request)), clean_needs(needs, cleaned)
    except RequestInvalid as error:
        raise RequestInvalid(f"requests[{place}]: {error}") from None


def _with_encoded(snapshot: Snapshot, asked: Sequence[tuple[str, Sequence[str]]], recipe: Recipe) -> Snapshot:
    """Return the snapshot with the vectors of clean requests, and of their steps, encoded in batches and cached."""
    if not asked or needed_encoder(snapshot, recipe) is None:
        return snapshot
    steps_by_request = [steps_of(request, recipe, needs) for request, needs in asked]
    with_cache = with_request_cache(snapshot, len(asked) + sum(map(len, steps_by_request)))
    if with_cache.encoder is None:
        return snapshot
    texts: list[str] = []
    for (request, _), steps in zip(asked, steps_by_request, strict=True):
        if not steps.spans or with_cache.encoder.encode_parts(steps.request, steps.spans) is None:
            texts += [request, *steps.texts]
    with_cache.encoder.encode_requests(texts)
    return with_cache


def _answer(snapshot: Snapshot, messages: UserMessages, needs: Sequence[str], options: CheckedOptions) -> RoutedTools:
    """Return the answer to clean messages, and to the clean needs of the latest.

    Raises NothingSelected where no tool is left and the selection asks for an error then, SettingsInvalid for a
    combined score without vectors.
    """
    recipe, selection = recipe_of(snapshot, options.recipe), options.selection
    start = perf_counter()
    admission = admit(lambda: snapshot.records.facets, selection, options.category, options.category_confidence)
    results = _search_messages(snapshot, messages, needs, recipe, admission.admitted)
    result = _merge_messages(snapshot, results, recipe, admission.admitted)
    of_needs = [estimate_fit(snapshot, need, recipe) for need in results[0].needs]
    whole, verdict = (with_needs(verdict, of_needs) for verdict in estimate_fits(snapshot, results, recipe))
    searched = perf_counter()
    final = post_process(snapshot, result, recipe, verdict, options)
    excluded = list(final.excluded)
    if options.explain and admission.filters:
        unfiltered = _merge_messages(snapshot, _search_messages(snapshot, messages, needs, recipe, None), recipe, None)
        excluded = tools_kept_out(admission, unfiltered, options.k, final.always) + excluded
    why_empty = "" if final.rows else _why_empty(len(result.ranking), admission, excluded)
    if why_empty and not selection.fallback_to_empty:
        raise NothingSelected(why_empty)
    tools = _tools(snapshot, result, final, options.explain)
    ended = perf_counter()
    count = len(final.always)
    return RoutedTools(
        tools=tools[count:],
        snapshot=snapshot.manifest.snapshot,
        recipe=recipe.name,
        fits=whole.fits if whole else None,
        latest_fits=verdict.fits if verdict else None,
        none_fits=verdict is not None and verdict.none_fits,
        calibrated=verdict is not None and verdict.calibrated,
        needs=tuple(needs),
        uncovered=tuple(need for need, fit in zip(needs, of_needs, strict=True) if fit is not None and fit.none_fits),
        # The last steps are what implicit needs are shown by, and then the earlier messages.
        steps=()
        if needs
        else result.steps.texts[: len(result.steps) - len(result.implicit_needs) - len(messages.earlier)],
        implicit_needs={str(need.need): need.text for need in result.implicit_needs},
        always=tools[:count],
        dropped=tuple(Dropped(snapshot.records.tool_id(out.ordinal), out.by, out.reason) for out in excluded),
        notes=(
            *admission.notes,
            *_depth_note(snapshot, result, recipe, options.k),
            *final.notes,
            *(explain_reading(result, recipe) if options.explain else ()),
        ),
        why_empty=why_empty,
        failed=final.failed,
        overlay=snapshot.overlay.revision,
        form=options.form or ProviderFormat.OPENAI,
        vendor_text=options.vendor_text,
        tokens=final.tokens,
        ms={"find": 1_000 * (searched - start), **dict(final.ms), "all": 1_000 * (ended - start)},
    )


def _search_messages(
    snapshot: Snapshot, messages: UserMessages, needs: Sequence[str], recipe: Recipe, admitted: Admitted | None
) -> list[SearchResult]:
    """Return the search result of each message, the latest first; where there are several, not completed yet."""
    apart = replace(recipe, collapse=False, prerequisites=False) if messages.earlier else recipe
    latest = search(snapshot, messages.latest, apart, admitted, needs)
    return [latest, *(search(snapshot, text, apart, admitted) for text in messages.earlier)]


def _merge_messages(
    snapshot: Snapshot, results: Sequence[SearchResult], recipe: Recipe, admitted: Admitted | None
) -> SearchResult:
    """Return the result of the latest message in the context of those before it."""
    latest, *earlier = results
    return complete(snapshot, combine_messages(latest, earlier), recipe, admitted) if earlier else latest


def _tools(
    snapshot: Snapshot, result: SearchResult, final: PostProcessingResult, explain: bool
) -> tuple[RoutedTool, ...]:
    """Return the tools of an answer: those of `always`, then the ranked ones."""
    rows = list(final.rows)
    ordinals = [*final.always, *result.ranking.ordinals[rows].tolist()]
    scores = [*(_score(result, ordinal) for ordinal in final.always), *result.ranking.scores[rows].tolist()]
    explainer = Explainer(snapshot, result, result.rankings, ordinals) if explain else None
    tools = []
    for ordinal, score, detail in zip(ordinals, scores, final.details, strict=True):
        if explainer is not None:
            tool = explainer.tool(ordinal, score)
        else:
            record = snapshot.records.entry(ordinal).record
            tool = RoutedTool(record.tool_id, record, score, also_from=also_from(snapshot, result, ordinal))
        if ordinal in result.dependents:
            shown = (dependent for dependent in result.dependents[ordinal] if dependent.ordinal in ordinals)
            tool = structs.replace(tool, needed_by=name_dependents(snapshot, shown))
        tools.append(tool if detail is tool.detail else structs.replace(tool, detail=detail))
    return tuple(tools)


def _score(result: SearchResult, ordinal: int) -> float:
    """Return the score of a tool, with what being needed added; 0 where nothing found it."""
    # Not `result.ranking`, from which duplicates have been removed.
    ranking = result.covered.ranking if result.covered else result.whole
    place = ranking.rank_of(ordinal)
    return (float(ranking.scores[place - 1]) if place else 0.0) + result.score_boosts.get(ordinal, 0.0)


def _depth_note(snapshot: Snapshot, result: SearchResult, recipe: Recipe, k: int) -> list[str]:
    """Return a note where more tools are asked for than the recipe ranks, and the catalog has more."""
    if k <= len(result.ranking) or not recipe.depth <= len(result.ranking) < len(snapshot.records):
        return []
    return [f"k is {k:,}: the recipe {recipe.name} ranks {len(result.ranking):,} tools; a greater depth ranks more"]


def _why_empty(candidates: int, admission: Admission, excluded: Sequence[Exclusion]) -> str:
    """Return why no tool was found, its words or the filters and how many each left out, and how to search again."""
    if not candidates:
        named = ", ".join(name for name, _, _ in admission.filters)
        if admission.admitted is not None and not admission.admitted.mask.any():
            return f"no tool of the catalog passes the filters ({named}): search with fewer filters"
        passing, fewer = (f" that passes the filters ({named})", ", or with fewer filters") if named else ("", "")
        return f"no tool{passing} has anything in common with the request: search in other words{fewer}"
    filters = dict.fromkeys(out.by for out in excluded)
    counts = ", ".join(f"{sum(out.by == name for out in excluded)} by {name}" for name in filters)
    counts = counts or "all of them are in `always`"
    return f"every tool that was found is left out: {counts}; search with fewer limits, or in other words"
