"""Searches a snapshot for a request: encodes it, ranks it by each signal, fuses, covers its steps and collapses
duplicates."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from router.contract import Signal
from router.encoding.encoder import Encoder, apply_adapter
from router.errors import RequestInvalid
from router.query.implicit_needs import find_implicit_needs
from router.query.steps import Steps, find_steps
from router.retrieval.deduplication import collapse
from router.retrieval.fusion import Contributions, fuse
from router.retrieval.implicit_needs import MetNeed, bring_tools, choose_tools
from router.retrieval.no_answer_calibration import (
    FitEstimate,
    apply_calibrations,
    has_clear_leader,
    no_answer_features,
    of_language,
)
from router.retrieval.prerequisites import Dependent, bring_prerequisites
from router.retrieval.recipe import Fusion, Normalization, Recipe
from router.retrieval.retrievers import STEP_SHARE, Admitted, EncodedQuery, Ranking
from router.retrieval.retrievers.retriever import NO_FORMS, Forms
from router.retrieval.step_fusion import SHARE_BESIDE_NEEDS, StepCoverage, cover_steps, need_weights
from router.snapshot.snapshot import Snapshot
from router.text import ENGLISH, terms
from router.tools.foreign_text import request_language

Vector = NDArray[np.float32]

# Characters. The encoder reads the first few hundred tokens and the lexical lists the first few hundred terms; a
# megabyte would take a second to split.
MAX_REQUEST = 20_000

# A step's lists hold STEP_SHARE of the tools, but not fewer than these, or than the whole request's.
_LEAST_OF_STEP = 30


class SearchResult(msgspec.Struct, frozen=True):
    """The tools found for a request, before they are cut to k: `ranking`, best first, and how it came about.

    `query` is what was ranked, `rankings` the list of each signal. `whole` is the fused ranking of the whole request;
    `contributions` and `assumed` belong to it, row for row. `covered` is what its steps make of it, None where it has
    one step. `duplicates` are by ordinal the tools that a tool stands for. `dependents` are by ordinal the tools that
    need a tool; `score_boosts` is what that added to its score, where it was brought for that. `own_ranking` is
    `ranking` without that. `implicit_needs` are those that tools were brought for; their texts are the last of `steps`.
    `needs` are the results of the needs that the caller stated, each by itself.
    """

    query: EncodedQuery
    rankings: Mapping[Signal, Ranking]
    whole: Ranking
    contributions: Sequence[Contributions]
    assumed: NDArray[np.float64]
    steps: Steps
    covered: StepCoverage | None
    ranking: Ranking
    duplicates: Mapping[int, tuple[int, ...]] = msgspec.field(default_factory=dict)
    dependents: Mapping[int, tuple[Dependent, ...]] = msgspec.field(default_factory=dict)
    score_boosts: Mapping[int, float] = msgspec.field(default_factory=dict)
    implicit_needs: tuple[MetNeed, ...] = ()
    own_ranking: Ranking | None = None
    needs: tuple["SearchResult", ...] = ()


def clean_request(request: str) -> str:
    """Return a request cut to MAX_REQUEST characters, unpaired surrogates replaced.

    Raises RequestInvalid where it is blank.
    """
    request = request[:MAX_REQUEST].encode("utf-8", "replace").decode("utf-8")
    # One character may stand for eighteen (U+FDFA), and the analyzer reads all of them.
    if not request.isascii() and len(expanded := unicodedata.normalize("NFKC", request)) > 2 * MAX_REQUEST:
        request = expanded[:MAX_REQUEST]
    if not request.strip():
        raise RequestInvalid("the request is empty: say what should be done")
    return request


def search(
    snapshot: Snapshot, request: str, recipe: Recipe, admitted: Admitted | None = None, needs: Sequence[str] = ()
) -> SearchResult:
    """Rank and fuse the admitted tools for a clean request by a recipe, cover its steps, and complete the result.

    `needs`, clean, stand in the place of the steps that a request is cut into, whatever the recipe.
    """
    steps = steps_of(request, recipe, needs)
    non_english = _non_english(snapshot, request, recipe)

    def fused(query: EncodedQuery, depth: int) -> SearchResult:
        rankings = rank(snapshot, query, recipe, depth, admitted)
        ranking, contributions, assumed = fuse(rankings, recipe, snapshot.expanded, non_english)
        return SearchResult(query, rankings, ranking, contributions, assumed, Steps(), None, ranking)

    query, *step_queries = encode_with_steps(snapshot, request, steps, recipe)
    result = fused(query, recipe.depth)
    if step_queries:
        depth = step_depth(recipe.depth)
        parts = [fused(structs.replace(step, is_step=True), depth) for step in step_queries]
        if needs:
            weights = need_weights(query, step_queries, result.rankings.get(Signal.DENSE))
            steps = structs.replace(steps, weights=weights)
        covered = cover_steps(result.whole, [part.whole for part in parts], steps)
        stated = tuple(parts) if needs else ()
        result = structs.replace(result, steps=steps, covered=covered, ranking=covered.ranking, needs=stated)
    return complete(snapshot, _meet_implicit_needs(snapshot, result, recipe, admitted), recipe, admitted)


def steps_of(request: str, recipe: Recipe, needs: Sequence[str] = ()) -> Steps:
    """Return the steps of a clean request: its needs, where the caller states some, else those that rules cut."""
    if needs:
        return Steps(tuple(needs), (1.0,) * len(needs), SHARE_BESIDE_NEEDS, stated=True)
    return find_steps(request) if recipe.steps else Steps()


def step_depth(depth: int) -> int:
    """Return how many tools each list of a step may hold, by how many each list of the whole request may."""
    return max(math.ceil(depth * STEP_SHARE), min(depth, _LEAST_OF_STEP))


def complete(snapshot: Snapshot, result: SearchResult, recipe: Recipe, admitted: Admitted | None) -> SearchResult:
    """Return a result with its duplicates collapsed, and with the admitted tools that those of the answer need."""
    return add_prerequisites(snapshot, collapse_duplicates(snapshot, result, recipe), recipe, admitted)


def add_prerequisites(
    snapshot: Snapshot, result: SearchResult, recipe: Recipe, admitted: Admitted | None
) -> SearchResult:
    """Return a result with the tools that must run first; as it is where the recipe or the snapshot has none."""
    if not recipe.prerequisites or snapshot.prerequisites is None:
        return result
    served = snapshot.restrict_to_served(admitted)
    shown_as = {duplicate: shown for shown, others in result.duplicates.items() for duplicate in others}

    def shown(ordinal: int) -> int | None:
        is_served = served is None or bool(served.mask[ordinal])
        return shown_as.get(ordinal, ordinal) if is_served else None

    brought = bring_prerequisites(result.ranking, result.query.text, snapshot.prerequisites, shown)
    own = result.ranking if brought.score_boosts else None
    return structs.replace(
        result,
        ranking=brought.ranking,
        dependents=brought.dependents,
        score_boosts=brought.score_boosts,
        own_ranking=own,
    )


def _meet_implicit_needs(
    snapshot: Snapshot, result: SearchResult, recipe: Recipe, admitted: Admitted | None
) -> SearchResult:
    """Return a result with a tool for each implicit need that the request shows and the snapshot can meet."""
    if not recipe.implicit_needs or not snapshot.implicit_needs.tools:
        return result
    if not (shown := find_implicit_needs(result.query.text, snapshot.implicit_needs.tools)):
        return result

    def provider(ordinal: int) -> str | None:
        return snapshot.records.entry(ordinal).record.provider

    needs = choose_tools(
        shown, snapshot.implicit_needs, result.ranking, provider, snapshot.restrict_to_served(admitted)
    )
    if not needs:
        return result
    covered = bring_tools(result.ranking, result.covered, needs, len(result.steps))
    steps = structs.replace(
        result.steps,
        texts=(*result.steps.texts, *(need.text for need in needs)),
        weights=(*result.steps.weights, *(1.0 for _ in needs)),
    )
    return structs.replace(result, covered=covered, ranking=covered.ranking, steps=steps, implicit_needs=needs)


def _non_english(snapshot: Snapshot, request: str, recipe: Recipe) -> NDArray[np.bool_] | None:
    """Return the marks of tools described in another language than an English request; None where none counts."""
    if snapshot.non_english is None or not recipe.impute_non_english or request_language(request) != ENGLISH:
        return None
    return snapshot.non_english


def collapse_duplicates(snapshot: Snapshot, result: SearchResult, recipe: Recipe) -> SearchResult:
    """Return a result in which duplicates share one place; as it is where the recipe does not collapse."""
    if not recipe.collapse or snapshot.duplicates is None:
        return result
    rows, duplicates = collapse(result.ranking, snapshot.duplicates)
    ranking = structs.replace(
        result.ranking, ordinals=result.ranking.ordinals[rows], scores=result.ranking.scores[rows]
    )
    return structs.replace(result, ranking=ranking, duplicates=duplicates)


def estimate_fit(snapshot: Snapshot, result: SearchResult, recipe: Recipe) -> FitEstimate | None:
    """Return how probably some tool fits; None where the snapshot has no calibration.

    A calibration holds for lists made by the snapshot's own recipe. Where `recipe` makes the dense list in another way,
    only the lexical lists count. It holds for requests in one language; a generic one is for those that have none.
    """
    if not snapshot.calibrations:
        return None
    own = snapshot.recipe
    same_dense = (recipe.dense_view, recipe.adapter, recipe.depth) == (own.dense_view, own.adapter, own.depth)
    rankings = {s: ranking for s, ranking in result.rankings.items() if same_dense or s is not Signal.DENSE}
    if Signal.DENSE in rankings and not len(rankings[Signal.DENSE]):
        # The dense list holds every admitted tool: the filters admitted none.
        return FitEstimate(0.0, none_fits=True, calibrated=True)
    vector = result.query.adapted_vector if same_dense else None
    features = no_answer_features(rankings, snapshot.dense, vector, len(snapshot.records))
    if snapshot.background_scores is not None:
        features |= snapshot.background_scores.features(rankings, result.query.terms, vector)

    def clear_leader() -> bool:
        return has_clear_leader(rankings, _fused_by_standard_scores(snapshot, result, recipe), snapshot.duplicates)

    # Where no tool was found, the calibration of English decides in any language.
    language = request_language(result.query.text) if any(map(len, rankings.values())) else ENGLISH
    return apply_calibrations(of_language(snapshot.calibrations, language), features, clear_leader)


def _fused_by_standard_scores(snapshot: Snapshot, result: SearchResult, recipe: Recipe) -> Ranking:
    """Fuse the whole request's lists by z-scores, whatever the recipe: ranks show no distances."""
    standard = replace(recipe, fusion=Fusion.CONVEX, normalization=Normalization.STANDARD)
    non_english = _non_english(snapshot, result.query.text, recipe)
    return result.whole if standard == recipe else fuse(result.rankings, standard, snapshot.expanded, non_english)[0]


def encode_with_steps(snapshot: Snapshot, request: str, steps: Steps, recipe: Recipe) -> list[EncodedQuery]:
    """Encode a request and then its steps, in one run of the encoder where it can."""
    if steps.spans and (encoder := needed_encoder(snapshot, recipe)):
        vectors = encoder.encode_parts(steps.request, steps.spans)
        if vectors is not None:
            return encoded_queries(snapshot, [request, *steps.texts], vectors, recipe)
    # Two runs: texts of one batch are padded to the longest, so a request and its steps together take a third longer.
    return encode(snapshot, [request], recipe) + encode(snapshot, steps.texts, recipe)


def encode(snapshot: Snapshot, texts: Sequence[str], recipe: Recipe) -> list[EncodedQuery]:
    """Encode texts in one batch, with the vectors that the recipe's signals read."""
    if not texts:
        return []
    encoder = needed_encoder(snapshot, recipe)
    if encoder is None:
        return [EncodedQuery(text, terms(text), forms=forms_of(snapshot, text)) for text in texts]
    return encoded_queries(snapshot, texts, encoder.encode_requests(texts), recipe)


def needed_encoder(snapshot: Snapshot, recipe: Recipe) -> Encoder | None:
    """Return the snapshot's encoder where a retriever that the recipe gives a weight reads vectors; else None."""
    reads = any(retriever.needs_vector and recipe.weights.get(s) for s, retriever in snapshot.retrievers.items())
    return snapshot.encoder if reads else None


def encoded_queries(snapshot: Snapshot, texts: Sequence[str], vectors: Vector, recipe: Recipe) -> list[EncodedQuery]:
    """Return the encoded queries of texts whose vectors, of shape (texts, dim), are known."""
    adapter = snapshot.adapter if recipe.adapter else None
    adapted_vectors = vectors if adapter is None else apply_adapter(vectors, adapter)
    encoder = snapshot.encoder if recipe.weigh_by_share_read else None
    shares = [encoder.share_read(text) if encoder else 1.0 for text in texts]
    return [
        EncodedQuery(
            text,
            terms(text),
            vector,
            adapted_vector,
            recipe.dense_view,
            share_read=share,
            forms=forms_of(snapshot, text),
        )
        for text, vector, adapted_vector, share in zip(texts, vectors, adapted_vectors, shares, strict=True)
    ]


def forms_of(snapshot: Snapshot, text: str) -> Forms:
    """Return the forms of a text's words where it is in a language of the snapshot's tools."""
    if not snapshot.manifest.tool_languages:
        return NO_FORMS
    from router.tools.word_forms import request_forms  # here: most catalogs are in English

    return request_forms(text, snapshot.manifest.tool_languages)


def rank(
    snapshot: Snapshot, query: EncodedQuery, recipe: Recipe, depth: int, admitted: Admitted | None = None
) -> dict[Signal, Ranking]:
    """Return the rankings of the signals that the recipe gives a weight, each of at most `depth` admitted tools.

    A signal that reads vectors is left out for a query that has none.
    """
    admitted = snapshot.restrict_to_served(admitted)
    depth = min(depth, len(snapshot.records))  # Tantivy reserves memory for as many hits as it is asked for
    return {
        signal: retriever.rank(query, depth, admitted)
        for signal, retriever in snapshot.retrievers.items()
        if recipe.weights.get(signal) and (query.vector is not None or not retriever.needs_vector)
    }
