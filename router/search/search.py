"""A request asked of a snapshot: encoded, ranked by each signal, fused, its steps covered, duplicates collapsed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from router.contract import Signal
from router.encoding.encoder import Encoder, apply_adapter
from router.errors import RequestInvalid
from router.query.steps import Steps, find_steps
from router.retrieval.calibration import Verdict, fitting
from router.retrieval.deduplication import collapse
from router.retrieval.evidence import evidence, leads
from router.retrieval.fusion import Contributions, fuse
from router.retrieval.recipe import Fusion, Normalization, Recipe
from router.retrieval.retrievers import Admitted, Ranking
from router.retrieval.step_fusion import StepCoverage, cover
from router.snapshot.snapshot import Snapshot
from router.text import terms, terms_by_language

Vector = NDArray[np.float32]

# Characters. The encoder reads the first few hundred tokens and the lexical lists the first few hundred terms; a
# megabyte would cost a second to split.
MAX_REQUEST = 20_000


@dataclass(frozen=True, slots=True)
class EncodedQuery:
    """A text as the signals read it: `terms` of the lexical lists, and its own `vector`, None where no list takes one.
    `moved` is the vector that the dense list is ranked by."""

    text: str
    terms: Sequence[str]
    vector: Vector | None
    moved: Vector | None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a request finds, before it is cut to k: `ranking`, best first, with the reasons.

    `whole` is the fused ranking of the whole request, and row for row `contributions` and `assumed`. `covered` is what
    its steps make of it; None where it has one step. `duplicates` are by ordinal the tools that a tool stands for.
    """

    request: EncodedQuery
    rankings: Mapping[Signal, Ranking]
    whole: Ranking
    contributions: Sequence[Contributions]
    assumed: NDArray[np.float64]
    steps: Steps
    covered: StepCoverage | None
    ranking: Ranking
    duplicates: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def clean(request: str) -> str:
    """A request as it is searched: cut at a length that no list reads past, half surrogate pairs replaced.

    Raises RequestInvalid where nothing is said.
    """
    request = request[:MAX_REQUEST].encode("utf-8", "replace").decode("utf-8")
    if not request.strip():
        raise RequestInvalid("the request is empty: say what should be done")
    return request


def search(snapshot: Snapshot, request: str, recipe: Recipe, admitted: Admitted | None = None) -> SearchResult:
    """Rank and fuse the admitted tools for a request by a recipe, cover its steps, and collapse duplicates."""
    steps = find_steps(request) if recipe.steps else Steps()
    asked, *parts = encode_steps(snapshot, request, steps, recipe)
    rankings = rank(snapshot, asked, recipe, recipe.depth, admitted)
    whole, contributions, assumed = fuse(rankings, recipe, snapshot.expanded)
    ranking, covered = whole, None
    if parts:
        ranked = [rank(snapshot, part, recipe, recipe.depth, admitted) for part in parts]
        fused = [fuse(lists, recipe, snapshot.expanded)[0] for lists in ranked]
        covered = cover(whole, fused, steps)
        ranking = covered.ranking
    return collapsed(
        snapshot, SearchResult(asked, rankings, whole, contributions, assumed, steps, covered, ranking), recipe
    )


def collapsed(snapshot: Snapshot, found: SearchResult, recipe: Recipe) -> SearchResult:
    """What was found with duplicates in one place, where the recipe says so."""
    if not recipe.collapse or snapshot.duplicates is None:
        return found
    kept, duplicates = collapse(found.ranking, snapshot.duplicates)
    ranking = replace(found.ranking, ordinals=found.ranking.ordinals[kept], scores=found.ranking.scores[kept])
    return replace(found, ranking=ranking, duplicates=duplicates)


def fits(snapshot: Snapshot, found: SearchResult, recipe: Recipe) -> Verdict | None:
    """Return whether some tool fits, and how probably; None where the snapshot has no calibration.

    A calibration holds for lists made as the snapshot's own recipe makes them: where another recipe takes other
    vectors, the lexical lists decide.
    """
    if not snapshot.calibrations:
        return None
    own = snapshot.recipe
    same = (recipe.dense_view, recipe.adapter, recipe.depth) == (own.dense_view, own.adapter, own.depth)
    rankings = {s: r for s, r in found.rankings.items() if same or s is not Signal.DENSE}
    if Signal.DENSE in rankings and not len(rankings[Signal.DENSE]):
        return Verdict(0.0, none_fits=True, calibrated=True)  # the dense list has every tool: filters left none
    vector = found.request.moved if same else None
    cues = evidence(rankings, snapshot.dense, vector, len(snapshot.records))
    if snapshot.cohort is not None:
        cues |= snapshot.cohort.cues(rankings, found.request.terms, vector)
    return fitting(
        snapshot.calibrations, cues, lambda: leads(rankings, _standard(snapshot, found, recipe), snapshot.duplicates)
    )


def _standard(snapshot: Snapshot, found: SearchResult, recipe: Recipe) -> Ranking:
    """The lists of the whole request fused by standard scores, whatever the recipe: ranks alone tell no distance."""
    standard = replace(recipe, fusion=Fusion.CONVEX, normalization=Normalization.STANDARD)
    return found.whole if standard == recipe else fuse(found.rankings, standard, snapshot.expanded)[0]


def encode_steps(snapshot: Snapshot, request: str, steps: Steps, recipe: Recipe) -> list[EncodedQuery]:
    """A request and then its steps, as the signals of a recipe read them; by one run of the encoder where it can."""
    if steps and (encoder := _encoder(snapshot, recipe)):
        vectors = encoder.encode_parts(steps.request, steps.spans)
        if vectors is not None:
            return encoded(snapshot, [request, *steps.texts], vectors, recipe)
    # Apart, for texts of one batch are padded to the longest: a request and its steps together take a third longer.
    return encode(snapshot, [request], recipe) + encode(snapshot, steps.texts, recipe)


def encode(snapshot: Snapshot, texts: Sequence[str], recipe: Recipe) -> list[EncodedQuery]:
    """Texts as the signals of a recipe read them; vectors are made together."""
    if not texts:
        return []
    encoder = _encoder(snapshot, recipe)
    if encoder is None:
        return [EncodedQuery(text, terms(text), None, None) for text in texts]
    return encoded(snapshot, texts, encoder.encode_requests(texts), recipe)


def _encoder(snapshot: Snapshot, recipe: Recipe) -> Encoder | None:
    """The encoder, where a list of the recipe takes a vector."""
    readers = {Signal.DENSE: snapshot.dense, Signal.INTENT: snapshot.intents}
    return snapshot.encoder if any(reader and recipe.weights.get(s) for s, reader in readers.items()) else None


def encoded(snapshot: Snapshot, texts: Sequence[str], vectors: Vector, recipe: Recipe) -> list[EncodedQuery]:
    """The same of texts whose vectors, of shape (texts, dim), are known."""
    adapter = snapshot.adapter if recipe.adapter else None
    moved = vectors if adapter is None else apply_adapter(vectors, adapter)
    return [EncodedQuery(text, terms(text), *made) for text, *made in zip(texts, vectors, moved, strict=True)]


def rank(
    snapshot: Snapshot, asked: EncodedQuery, recipe: Recipe, depth: int, admitted: Admitted | None = None
) -> dict[Signal, Ranking]:
    """Each signal's ranking of the admitted tools, where the recipe gives it a weight; at most `depth` of each."""
    admitted = snapshot.serving(admitted)
    depth = min(depth, len(snapshot.records))  # Tantivy reserves memory for as many hits as it is asked for
    languages = snapshot.manifest.languages
    rankings = {
        signal: retriever.rank_by_language(terms_by_language(asked.text, languages), depth, admitted)
        if signal is Signal.EXPANSION and len(languages) > 1
        else retriever.rank(asked.terms, depth, admitted)
        for signal, retriever in snapshot.lexical.items()
        if recipe.weights.get(signal)
    }
    if asked.moved is not None and snapshot.dense is not None and recipe.weights.get(Signal.DENSE):
        rankings[Signal.DENSE] = snapshot.dense.rank(asked.moved, depth, recipe.dense_view, admitted)
    if asked.vector is not None and snapshot.intents is not None and recipe.weights.get(Signal.INTENT):
        rankings[Signal.INTENT] = snapshot.intents.rank(asked.vector, depth, admitted)
    return rankings
