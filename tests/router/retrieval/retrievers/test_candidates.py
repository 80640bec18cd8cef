"""Candidates first: what a large catalog's index and moments leave of the exact ranking."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.indexing import dense
from pipeline.indexing.centroids import index_centroids
from router import contract
from router.distribution import install_command
from router.errors import SnapshotInvalid
from router.retrieval.retrievers import (
    VIEWS,
    Admitted,
    CandidateIndex,
    CatalogMoments,
    DenseRetriever,
    DenseView,
    EncodedQuery,
    ToolVectors,
)
from router.snapshot.loading import import_libraries
from tests.router.retrieval.retrievers.crowds import BARE, DIM, TOOLS, large, opened, unit, write_crowds

INDEX = (contract.CANDIDATES, contract.MOMENTS)
Requests = NDArray[np.float32]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every tenth tool has no phrase, the others four."""
    return write_crowds(tmp_path_factory.mktemp("dense"), np.where(np.arange(TOOLS) % 10, 4, 0))


@pytest.fixture(scope="module")
def retriever(catalog: Path) -> DenseRetriever:
    return opened(catalog, INDEX)


def shared(some: DenseRetriever, others: DenseRetriever, requests: Requests) -> float:
    """The share of the first twenty tools that both have."""
    first, second = ([one.rank_vector(r, 20, DenseView.MEAN).ordinals for r in requests] for one in (some, others))
    return float(np.mean([np.isin(*pair).mean() for pair in zip(first, second, strict=True)]))


@pytest.mark.parametrize("view", DenseView)
def test_candidates_hold_what_scoring_every_vector_ranks_first_with_its_scores_center_and_spread(
    exact: DenseRetriever, retriever: DenseRetriever, requests: Requests, view: DenseView
) -> None:
    assert shared(exact, retriever, requests) >= 0.98
    for request in requests[:10]:
        ranking, every = retriever.rank_vector(request, 20, view), exact.scores(request, view)
        with_phrases, expected = ranking.ordinals % 10 > 0, every[ranking.ordinals]
        assert ranking.scores[with_phrases] == pytest.approx(expected[with_phrases], abs=1e-5)
        # The others are lifted by an average that is measured on a sample.
        assert ranking.scores == pytest.approx(expected, abs=0.03)
        assert ranking.center == pytest.approx(every.mean(), abs=0.2 * every.std())
        assert ranking.spread == pytest.approx(every.std(), rel=0.15 if view is not DenseView.DOCUMENT else 1e-3)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many candidates the index was asked for, each time."""
    asked: list[int] = []
    nearest = CandidateIndex.nearest

    def counted(index: CandidateIndex, vector: Requests, count: int) -> NDArray[np.int64]:
        asked.append(count)
        return nearest(index, vector, count)

    monkeypatch.setattr(CandidateIndex, "nearest", counted)
    return asked


def query(request: Requests, *, is_step: bool) -> EncodedQuery:
    return EncodedQuery("", (), request, request, DenseView.MEAN, is_step)


def test_a_step_scores_a_third_of_the_candidates_and_keeps_the_first_tools(
    retriever: DenseRetriever, requests: Requests, counts: list[int]
) -> None:
    kept = []
    for request in requests:
        whole, step = (retriever.rank(query(request, is_step=is_step), 30).ordinals[:3] for is_step in (False, True))
        kept.append(np.isin(whole, step).mean())
    assert counts == [256, 77] * len(requests)  # of 1,500 tools; .3 × 256, rounded up
    assert np.mean(kept) > 0.9


def test_few_admitted_tools_are_all_scored_and_many_ask_for_more_candidates(
    retriever: DenseRetriever, exact: DenseRetriever, requests: Requests, counts: list[int]
) -> None:
    few, half = (Admitted(np.arange(TOOLS) % part == 1) for part in (5, 2))
    found, expected = (one.rank(query(requests[0], is_step=True), 30, few) for one in (retriever, exact))
    assert found.ordinals.tolist() == expected.ordinals.tolist() and counts == []
    found = retriever.rank(query(requests[0], is_step=True), 30, half)
    assert counts == [2 * 77] and set(found.ordinals % 2) == {1}


def test_in_a_very_large_catalog_the_codes_lie_in_cells(
    tmp_path: Path, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.indexing.centroids.MOST_SCANNED", 1_000)
    write_crowds(tmp_path, np.full(TOOLS, 3))
    index = CandidateIndex.open(tmp_path / contract.CANDIDATES, TOOLS, DIM)
    assert type(index._index).__name__ == "IndexIVFPQFastScan"
    celled = opened(tmp_path, INDEX)
    assert shared(DenseRetriever(ToolVectors.open(tmp_path)), celled, requests) >= 0.9


@pytest.mark.parametrize("files", [INDEX, ()], ids=["indexed", "not indexed"])
def test_without_faiss_the_router_scores_every_vector_those_added_too(
    catalog: Path,
    exact: DenseRetriever,
    requests: Requests,
    files: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)  # as where the extra `large` is not installed
    monkeypatch.setattr("router.retrieval.retrievers.vectors._BLOCK", 100)
    without = opened(catalog, files)
    for request in requests[:5]:
        expected, ranking = (one.rank_vector(request, 20, DenseView.MEAN) for one in (exact, without))
        assert ranking.scores.tolist() == expected.scores.tolist() and ranking.center == expected.center
    added = without.with_later(ToolVectors.of(requests[:1], requests[:0], np.array([0, 0])))
    assert added.rank_vector(requests[0], 3, DenseView.DOCUMENT).ordinals[0] == TOOLS
    (told,) = [record.getMessage() for record in caplog.records]
    assert f"6,900 vectors: {install_command('large')}" in told
    assert told.endswith("build the catalog again") == (not files)


def test_up_to_a_bound_every_vector_is_compared_with_faiss_and_without(
    catalog: Path, exact: DenseRetriever, requests: Requests
) -> None:
    manifest = replace(BARE, files=dict.fromkeys(INDEX, ""))
    small = DenseRetriever.open(catalog, manifest, TOOLS)
    assert small is not None
    for request in requests[:5]:
        found, expected = (one.rank_vector(request, 20, DenseView.MEAN) for one in (small, exact))
        assert found.ordinals.tolist() == expected.ordinals.tolist() and found.spread == expected.spread


def test_few_tools_with_many_vectors_have_no_candidates_and_nobody_is_advised_to_build_some(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    phrases = unit(np.random.default_rng(1).normal(size=(TOOLS, DIM)))
    with large():
        dense.write_dense(tmp_path, phrases[:100], phrases, np.arange(0, TOOLS + 1, TOOLS // 100))
        assert DenseRetriever.open(tmp_path, BARE, 100) is not None
    assert not (tmp_path / contract.CANDIDATES).exists() and not caplog.records


@pytest.mark.parametrize(("phrases", "imports"), [(90_000, 0), (90_001, 1)])
def test_an_older_snapshot_with_candidates_of_few_vectors_imports_no_faiss(
    phrases: int, imports: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr("router.snapshot.loading.has_faiss", lambda: asked.append(True))
    import_libraries(replace(BARE, files=dict.fromkeys(INDEX, ""), counts={"tools": 10_000, "phrases": phrases}))
    assert len(asked) == imports


def test_vectors_that_are_stored_by_column_are_refused(catalog: Path, tmp_path: Path) -> None:
    for path in catalog.glob("vector*.npy"):
        array = np.load(path)
        np.save(tmp_path / path.name, np.asfortranarray(array) if array.ndim == 2 else array)
    with pytest.raises(SnapshotInvalid, match="a vector or more of each tool as int8"):
        ToolVectors.open(tmp_path)


def test_files_of_other_vectors_or_of_none_are_refused(catalog: Path, tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid, match=f"{TOOLS} tools of {DIM} dims, not 3 of {DIM}"):
        CandidateIndex.open(catalog / contract.CANDIDATES, 3, DIM)
    with pytest.raises(SnapshotInvalid, match=r"must be \(3, 16\)"):
        CatalogMoments.open(catalog / contract.MOMENTS, len(VIEWS), 16)
    (tmp_path / "none").write_bytes(b"neither")
    for open_file, count in ((CandidateIndex.open, TOOLS), (CatalogMoments.open, len(VIEWS))):
        with pytest.raises(SnapshotInvalid, match="cannot be read"):
            open_file(tmp_path / "none", count, DIM)


@pytest.mark.parametrize(
    ("first", "last", "value"),
    [
        (0, 0, b"IxFI"),
        (4, 4, b"\xff\xff\xff\x7f"),
        (8, 8, b"\xff" * 8),
        (61, 61, (2**30).to_bytes(8, "little")),
        (2117, 2136, b"\x03"),  # after 8 + 2,048 bytes of tables
    ],
    ids=["kind", "dims", "tools", "a table of 4 GB", "how codes are scanned"],
)
def test_an_index_that_says_more_than_its_file_holds_or_lies_otherwise_is_refused(
    tmp_path: Path, first: int, last: int, value: bytes
) -> None:
    path = tmp_path / contract.CANDIDATES
    index_centroids(unit(np.random.default_rng(1).normal(size=(500, DIM))), path)
    whole = path.read_bytes()
    for place in range(first, last + 1):
        path.write_bytes(whole[:place] + value + whole[place + len(value) :])
        with pytest.raises(SnapshotInvalid):
            CandidateIndex.open(path, 500, DIM)
