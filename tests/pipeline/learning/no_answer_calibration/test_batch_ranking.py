"""Many requests at once are scored as a router scores one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.learning.no_answer_calibration import batch_ranking
from pipeline.learning.no_answer_calibration.background import background, score_background
from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, dense_scores
from pipeline.memo import Memo
from router import Signal
from router.contract import ENCODER_FOLDER, ENCODER_MODEL
from router.encoding.encoder import OnnxEncoder
from router.retrieval.retrievers import DenseRetriever, DenseView, ToolVectors
from router.retrieval.score_normalization import length_normalized
from router.search.search import encode, rank
from router.snapshot.memory import snapshot_from_records
from router.snapshot.snapshot import Snapshot
from router.text import terms
from tests.support.factories import make_record

REQUESTS = ["refund the customer", "refund the customer", "open an issue about the outage", "the the", "quark zebra"]


@pytest.fixture(scope="module")
def opened(snapshot: Path) -> Snapshot:
    return Snapshot.open(snapshot)


def catalog(*phrases: int, dim: int = 8) -> ToolVectors:
    """The vectors of tools with so many phrases each."""
    rng = np.random.default_rng(0)
    offsets = np.cumsum([0, *phrases])
    made = rng.normal(size=(len(phrases) + offsets[-1], dim)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return ToolVectors.of(made[: len(phrases)], made[len(phrases) :], offsets)


@pytest.mark.parametrize("view", DenseView)
@pytest.mark.parametrize("phrases", [(3, 0, 1, 2, 0), (0, 0), (2, 1), (0, 4, 0, 0, 1, 5)])
def test_dense_scores_are_the_routers(
    view: DenseView, phrases: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_ranking, "_TOOLS", 2)
    monkeypatch.setattr(batch_ranking, "_BLOCK", 4 * len(phrases))
    vectors, requests = catalog(*phrases), catalog(6).of_tools(0, 1)
    found = np.concatenate([scores for _, scores in dense_scores(vectors, requests, view)], axis=1)
    one_by_one = np.stack([DenseRetriever(vectors).scores(request, view) for request in requests], axis=1)
    assert found == pytest.approx(one_by_one, abs=2e-6)


def test_a_request_that_an_earlier_build_encoded_is_encoded_again_by_another_encoder_only(
    opened: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, memo, encode = list[str](), Memo(), OnnxEncoder.encode_request

    def note_and_encode(encoder: OnnxEncoder, request: str) -> NDArray[np.float32]:
        asked.append(request)
        return encode(encoder, request)

    monkeypatch.setattr(OnnxEncoder, "encode_request", note_and_encode)
    files = {**opened.manifest.files, f"{ENCODER_FOLDER}/{ENCODER_MODEL}": "0" * 64}
    other = replace(opened, manifest=replace(opened.manifest, files=files))
    rankers = [BatchRanker(one, memo) for one in (opened, opened, other)]
    first, again, anew = (np.array(ranker.query_vectors(REQUESTS[2:])) for ranker in rankers)
    assert asked == REQUESTS[2:] * 2
    assert np.array_equal(first, again) and np.array_equal(first, anew)


def test_requests_get_the_lists_that_a_router_gives_each(opened: Snapshot) -> None:
    depth = 3
    cut = replace(opened, recipe=replace(opened.recipe, depth=depth))
    assert cut.encoder is not None and cut.dense is not None and cut.adapter is None
    for request, asked in zip(REQUESTS, BatchRanker(cut).rank(REQUESTS), strict=True):
        vector = cut.encoder.encode_request(request)
        dense = cut.dense.rank_vector(vector, depth, cut.recipe.dense_view)
        assert asked.rankings[Signal.DENSE].ordinals.tolist() == dense.ordinals.tolist()
        assert asked.rankings[Signal.DENSE].scores == pytest.approx(dense.scores, abs=2e-6)
        for signal, retriever in cut.lexical.items():
            assert (
                asked.rankings[signal].ordinals.tolist()
                == retriever.rank_terms(terms(request), depth).ordinals.tolist()
            )


def test_a_request_in_a_language_of_the_tools_gets_the_lists_that_a_router_gives_it() -> None:
    described = ("Storniert eine Bestellung und die Lieferung.", "Sendet eine Nachricht an das Team.")
    german = snapshot_from_records([make_record(text[:5], "de", description=text) for text in described], {}, None)
    request = "wo sind meine Bestellungen?"  # no whole word of a tool, but the stem of one
    query = encode(german, [request], german.recipe)[0]
    routed = rank(german, query, german.recipe, german.recipe.depth)[Signal.DESCRIPTION]
    found = BatchRanker(german).rank([request])[0].rankings[Signal.DESCRIPTION]
    assert found.ordinals.tolist() == routed.ordinals.tolist() != []
    assert found.scores.tolist() == routed.scores.tolist()


def test_the_cohorts_statistics_are_those_of_whole_lists_asked_one_by_one(opened: Snapshot) -> None:
    """The plain way: every background request, every list to its end."""
    everyday, tools = background()[::40], len(opened.records)
    ranker = BatchRanker(opened)
    cohort = score_background(ranker, everyday, ranker.query_vectors([one.request for one in everyday]))
    assert opened.encoder is not None and opened.dense is not None
    table = {signal: np.zeros((len(everyday), tools)) for signal in cohort.statistics}
    for row, one in enumerate(everyday):
        lists = {
            signal: retriever.rank_terms(terms(one.request), tools) for signal, retriever in opened.lexical.items()
        }
        vector = opened.encoder.encode_request(one.request)
        lists[Signal.DENSE] = opened.dense.rank_vector(vector, tools, opened.recipe.dense_view)
        for signal, ranking in lists.items():
            table[signal][row, ranking.ordinals] = length_normalized(signal, ranking.scores, terms(one.request))
    for signal, (mean, deviation) in cohort.statistics.items():
        own = table[signal].std(axis=0)
        assert mean == pytest.approx(table[signal].mean(axis=0), abs=2e-6)
        assert deviation == pytest.approx((own + own.mean()) / 2, abs=1e-5)
