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
from router.contract import EncoderManifest, Manifest, Signal
from router.distribution import install_command
from router.errors import SnapshotInvalid
from router.retrieval.retrievers import (
    VIEWS,
    CandidateIndex,
    CatalogMoments,
    DenseRetriever,
    DenseView,
    EncodedQuery,
    ToolVectors,
)

TOOLS, DIM = 1_500, 32
BARE = Manifest("s", "c", "", "", {}, (), None, {}, {}, {}, "", {})


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    made: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return made


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tools in thirty crowds; every tenth has no phrase, the others have four near their document."""
    generator = np.random.default_rng(7)
    documents = unit(generator.normal(size=(30, DIM))[np.arange(TOOLS) % 30] + generator.normal(size=(TOOLS, DIM)))
    counts = np.where(np.arange(TOOLS) % 10, 4, 0)
    phrases = unit(np.repeat(documents, counts, axis=0) + 0.1 * generator.normal(size=(counts.sum(), DIM)))
    folder = tmp_path_factory.mktemp("dense")
    dense.write_dense(folder, documents, phrases, np.concatenate([[0], np.cumsum(counts)]))
    return folder


def vectors(folder: Path) -> ToolVectors:
    names = (contract.VECTORS, contract.VECTOR_SCALES, contract.VECTOR_OFFSETS)
    return ToolVectors(*(np.load(folder / name) for name in names))


@pytest.fixture(scope="module")
def retriever(catalog: Path) -> DenseRetriever:
    candidates = CandidateIndex.open(catalog / contract.CANDIDATES, TOOLS, DIM)
    return DenseRetriever(
        vectors(catalog), candidates, CatalogMoments.open(catalog / contract.MOMENTS, len(VIEWS), DIM)
    )


@pytest.fixture(scope="module")
def requests() -> NDArray[np.float32]:
    return unit(np.random.default_rng(8).normal(size=(40, DIM)))


def test_candidates_hold_what_scoring_every_vector_ranks_first(
    catalog: Path, retriever: DenseRetriever, requests: NDArray[np.float32]
) -> None:
    exact = DenseRetriever(vectors(catalog))
    found = []
    for request in requests:
        first = exact.rank_vector(request, 20, DenseView.MEAN).ordinals
        found.append(np.isin(first, retriever.rank_vector(request, 20, DenseView.MEAN).ordinals).mean())
    assert np.mean(found) >= 0.98


@pytest.mark.parametrize("view", DenseView)
def test_a_candidates_score_is_that_of_scoring_every_vector(
    catalog: Path, retriever: DenseRetriever, requests: NDArray[np.float32], view: DenseView
) -> None:
    exact = DenseRetriever(vectors(catalog))
    for request in requests[:10]:
        ranking = retriever.rank_vector(request, 20, view)
        with_phrases = ranking.ordinals % 10 > 0
        expected = exact.scores(request, view)[ranking.ordinals]
        assert ranking.scores[with_phrases] == pytest.approx(expected[with_phrases], abs=1e-5)
        # The others are lifted by an average that is measured on a sample.
        assert ranking.scores == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("view", DenseView)
def test_center_and_spread_are_those_of_the_whole_catalog(
    catalog: Path, retriever: DenseRetriever, requests: NDArray[np.float32], view: DenseView
) -> None:
    exact = DenseRetriever(vectors(catalog))
    for request in requests[:10]:
        scores = exact.scores(request, view)
        ranking = retriever.rank_vector(request, 20, view)
        assert ranking.center == pytest.approx(scores.mean(), abs=0.2 * scores.std())
        assert ranking.spread == pytest.approx(scores.std(), rel=0.15 if view is not DenseView.DOCUMENT else 1e-3)


def test_a_list_as_long_as_the_candidates_scores_every_tool(
    catalog: Path, retriever: DenseRetriever, requests: NDArray[np.float32]
) -> None:
    exact = DenseRetriever(vectors(catalog))
    whole = retriever.rank_vector(requests[0], TOOLS, DenseView.MEAN)
    assert len(whole) == TOOLS
    assert whole.scores == pytest.approx(exact.rank_vector(requests[0], TOOLS, DenseView.MEAN).scores, abs=1e-5)


def test_the_same_vectors_give_the_same_index(catalog: Path, tmp_path: Path) -> None:
    held = vectors(catalog)
    offsets = np.concatenate([[0], np.cumsum(np.diff(held.offsets) - 1)])
    dense.write_dense(tmp_path, held.documents(), held.phrases(), offsets)
    first = (tmp_path / contract.CANDIDATES).read_bytes()
    dense.write_dense(tmp_path, held.documents(), held.phrases(), offsets)
    assert (tmp_path / contract.CANDIDATES).read_bytes() == first


def test_an_index_of_other_vectors_is_refused(catalog: Path) -> None:
    with pytest.raises(SnapshotInvalid, match=f"{TOOLS} tools of {DIM} dims, not 3 of {DIM}"):
        CandidateIndex.open(catalog / contract.CANDIDATES, 3, DIM)


def test_an_index_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / contract.CANDIDATES).write_bytes(b"no index")
    with pytest.raises(SnapshotInvalid, match="cannot be read"):
        CandidateIndex.open(tmp_path / contract.CANDIDATES, 3, DIM)
    (tmp_path / contract.MOMENTS).write_bytes(b"no moments")
    with pytest.raises(SnapshotInvalid, match="cannot be read"):
        CatalogMoments.open(tmp_path / contract.MOMENTS, len(VIEWS), DIM)


def test_moments_of_another_length_are_refused(catalog: Path) -> None:
    with pytest.raises(SnapshotInvalid, match=r"must be \(3, 16\)"):
        CatalogMoments.open(catalog / contract.MOMENTS, len(VIEWS), 16)


def test_in_a_very_large_catalog_the_codes_lie_in_cells(
    catalog: Path, tmp_path: Path, requests: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.indexing.centroids.MOST_SCANNED", 1_000)
    held = vectors(catalog)
    dense.write_dense(tmp_path, held.documents(), held.phrases(), held.offsets - np.arange(TOOLS + 1))
    candidates = CandidateIndex.open(tmp_path / contract.CANDIDATES, TOOLS, DIM)
    assert type(candidates._index).__name__ == "IndexIVFPQFastScan"
    exact = DenseRetriever(held)
    celled = DenseRetriever(held, candidates, CatalogMoments.open(tmp_path / contract.MOMENTS, len(VIEWS), DIM))
    found = [
        np.isin(
            exact.rank_vector(r, 20, DenseView.MEAN).ordinals, celled.rank_vector(r, 20, DenseView.MEAN).ordinals
        ).mean()
        for r in requests
    ]
    assert np.mean(found) >= 0.9


def test_tools_that_are_all_candidates_need_no_index(tmp_path: Path) -> None:
    rows = unit(np.random.default_rng(3).normal(size=(200 * 30, DIM)))
    dense.write_dense(tmp_path, rows[:200], rows[200:], np.linspace(0, 5_800, 201).astype(np.int64))
    assert not (tmp_path / contract.CANDIDATES).exists()
    assert (tmp_path / contract.VECTORS).exists()


@pytest.fixture
def no_faiss(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import of faiss fails, as where the extra `large` is not installed."""
    monkeypatch.setitem(sys.modules, "faiss", None)


def test_without_faiss_a_large_catalog_is_written_and_ranks_as_every_vector_does(
    catalog: Path, requests: NDArray[np.float32], no_faiss: None, tmp_path: Path
) -> None:
    held = vectors(catalog)
    dense.write_dense(tmp_path, held.documents(), held.phrases(), held.offsets - np.arange(TOOLS + 1))
    assert not {contract.CANDIDATES, contract.MOMENTS} & {path.name for path in tmp_path.iterdir()}
    assert (vectors(tmp_path).rows == held.rows).all()


def _opened(folder: Path, files: tuple[str, ...]) -> DenseRetriever:
    """The retriever of a snapshot's folder, opened as the router does."""
    spec = EncoderManifest("m", "r", "mean", "", DIM, 64, "fp32")
    manifest = replace(BARE, signals=(Signal.DENSE,), encoder=spec, files=dict.fromkeys(files, ""))
    opened = DenseRetriever.open(folder, manifest, TOOLS)
    assert opened is not None
    return opened


@pytest.mark.parametrize("files", [(contract.CANDIDATES, contract.MOMENTS), ()], ids=["indexed", "not indexed"])
@pytest.mark.parametrize("most", [50_000, 100], ids=["copied", "in blocks"])
def test_without_faiss_the_router_scores_every_vector(
    catalog: Path,
    requests: NDArray[np.float32],
    files: tuple[str, ...],
    most: int,
    no_faiss: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    exact = DenseRetriever(vectors(catalog))
    monkeypatch.setattr("router.retrieval.retrievers.dense.MOST_COPIED", most)
    opened = _opened(catalog, files)
    for request in requests[:5]:
        expected, ranking = (
            exact.rank_vector(request, 20, DenseView.MEAN),
            opened.rank_vector(request, 20, DenseView.MEAN),
        )
        assert ranking.scores == pytest.approx(expected.scores, abs=2e-6)
        assert ranking.center == pytest.approx(expected.center, abs=1e-5)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == (most == 100)
    for message in told:
        assert f"6,900 vectors: {install_command('large')}" in message
        assert message.endswith("build the catalog again") == (not files)


def test_tools_added_at_run_time_are_ranked_without_faiss_too(
    catalog: Path, requests: NDArray[np.float32], no_faiss: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.retrieval.retrievers.dense.MOST_COPIED", 100)
    held = vectors(catalog)
    added = DenseRetriever(held).with_later(ToolVectors.of(requests[:1], requests[:0], np.array([0, 0])))
    assert added.rank_vector(requests[0], 3, DenseView.DOCUMENT).ordinals[0] == TOOLS


@pytest.mark.parametrize(
    ("place", "value"),
    [(0, b"IxFI"), (4, b"\xff\xff\xff\x7f"), (8, b"\xff" * 8), (61, (2**30).to_bytes(8, "little"))],
    ids=["kind", "dims", "tools", "a table of 4 GB"],
)
def test_an_index_that_says_more_than_its_file_holds_is_refused(tmp_path: Path, place: int, value: bytes) -> None:
    path = tmp_path / contract.CANDIDATES
    index_centroids(unit(np.random.default_rng(1).normal(size=(500, 32))), path)
    data = bytearray(path.read_bytes())
    data[place : place + len(value)] = value
    path.write_bytes(data)
    with pytest.raises(SnapshotInvalid):
        CandidateIndex.open(path, 500, 32)


def test_an_index_of_another_layout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / contract.CANDIDATES
    index_centroids(unit(np.random.default_rng(1).normal(size=(500, 32))), path)
    data = path.read_bytes()
    for place in range(2117, 2137):  # after 8 + 2,048 bytes of tables: how faiss scans the codes
        path.write_bytes(data[:place] + b"\x03" + data[place + 1 :])
        with pytest.raises(SnapshotInvalid):
            CandidateIndex.open(path, 500, 32)


def test_a_step_scores_a_third_of_the_candidates_and_keeps_the_first_tools(
    retriever: DenseRetriever, requests: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    nearest = CandidateIndex.nearest

    def counted(index: CandidateIndex, vector: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        counts.append(count)
        return nearest(index, vector, count)

    monkeypatch.setattr(CandidateIndex, "nearest", counted)
    kept = []
    for request in requests:
        whole, step = (
            retriever.rank(EncodedQuery("", (), request, request, DenseView.MEAN, is_step), 30).ordinals[:3].tolist()
            for is_step in (False, True)
        )
        kept.append(len(set(whole) & set(step)) / 3)
    assert counts == [256, 77] * len(requests)  # of 1,500 tools; .3 × 256, rounded up
    assert np.mean(kept) > 0.9
