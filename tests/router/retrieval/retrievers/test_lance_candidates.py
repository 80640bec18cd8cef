"""Candidates from LanceDB: the ranking is that of every vector where they cover it, in threads too."""

import contextlib
import random
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from router import contract
from router.distribution import install_command
from router.errors import SnapshotInvalid
from router.retrieval.retrievers import Admitted, DenseRetriever, DenseView, LanceCandidates
from tests.router.retrieval.retrievers.crowds import DIM, TOOLS, opened, write_crowds

# Importing it takes seconds: no worker pays them that runs none of these.
pytestmark = pytest.mark.skipif(find_spec("lancedb") is None, reason="the extra lancedb is not installed")

Requests = NDArray[np.float32]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each tool has four phrases."""
    return write_crowds(tmp_path_factory.mktemp("lance"), np.full(TOOLS, 4), "lancedb")


def files_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def candidates(folder: Path, tools: int = TOOLS, dim: int = DIM) -> LanceCandidates:
    names = [name for name in files_of(folder) if name.startswith(contract.CANDIDATE_TABLE)]
    return LanceCandidates.open(folder, names, tools, dim)


@pytest.fixture(scope="module")
def retriever(catalog: Path) -> DenseRetriever:
    return opened(catalog, files_of(catalog))


@pytest.mark.parametrize("share", [None, 0.5, 0.01, 0.001])
def test_the_first_tools_are_the_admitted_ones_of_every_vector_in_its_order_and_by_its_scores(
    share: float | None, retriever: DenseRetriever, exact: DenseRetriever, requests: Requests
) -> None:
    mask = np.random.default_rng(4).random(TOOLS) < (share or 1)
    mask[17] = True
    admitted, found = None if share is None else Admitted(mask), []
    for request in requests:
        first, expected = (one.rank_vector(request, 20, DenseView.MEAN, admitted) for one in (retriever, exact))
        assert mask[first.ordinals].all() and len(first) == min(20, mask.sum())
        covered = np.isin(expected.ordinals, first.ordinals)
        found.append(covered.mean())
        shared = np.isin(first.ordinals, expected.ordinals)
        assert first.ordinals[shared].tolist() == expected.ordinals[covered].tolist()
        assert first.scores[shared] == pytest.approx(expected.scores[covered], abs=2e-6)
    assert np.mean(found) >= (0.98 if share is None or share > 0.3 else 1)


def test_many_threads_search_as_one(retriever: DenseRetriever, requests: Requests) -> None:
    def ask(request: Requests) -> list[int]:
        return list(map(int, retriever.rank_vector(request, 20, DenseView.MEAN).ordinals))

    alone = [ask(request) for request in requests]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, [*requests, *requests])) == alone * 2


@pytest.fixture
def copied(catalog: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(catalog, tmp_path / "copied"))


def test_a_table_is_read_though_its_folder_was_removed(catalog: Path, requests: Requests, copied: Path) -> None:
    held = candidates(copied)
    before = held.nearest(requests[0], 300)
    shutil.rmtree(copied)
    assert held.nearest(requests[1], 300).tolist() == candidates(catalog).nearest(requests[1], 300).tolist()
    assert held.nearest(requests[0], 300).tolist() == before.tolist()


def test_a_table_of_other_vectors_and_one_without_lancedb_are_refused(
    catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SnapshotInvalid, match=f"holds {TOOLS} centroids"):
        candidates(catalog, tools=3)
    with pytest.raises(SnapshotInvalid, match="of 64 dims"):
        candidates(catalog, dim=64)
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(SnapshotInvalid) as raised:
        opened(catalog, files_of(catalog))
    assert str(raised.value).endswith(f"not installed: {install_command('lancedb')}")


@pytest.mark.parametrize("part", ["_versions", "_indices"])
def test_a_table_without_a_file_is_refused(copied: Path, part: str) -> None:
    shutil.rmtree(copied / contract.CANDIDATE_TABLE / part)
    with pytest.raises(SnapshotInvalid, match=r"cannot be read|is damaged|no index"):
        candidates(copied)


@pytest.mark.parametrize("flips", [1, pytest.param(12, marks=pytest.mark.nightly)])
def test_a_truncated_file_and_flipped_bits_end_in_a_ranking_or_in_a_refusal(copied: Path, flips: int) -> None:
    generator = random.Random(5)
    for path in sorted(path for path in (copied / contract.CANDIDATE_TABLE).rglob("*") if path.is_file()):
        whole = path.read_bytes()
        damages = [whole[: int(share * len(whole))] for share in (0, 0.5, 0.99)]
        for _ in range(flips if whole else 0):
            damaged = bytearray(whole)
            place = generator.choice((generator.randrange(len(whole)), -1 - generator.randrange(min(13, len(whole)))))
            damaged[place] ^= 1 << generator.randrange(8)
            damages.append(bytes(damaged))
        for content in damages:
            path.write_bytes(content)
            with contextlib.suppress(SnapshotInvalid):
                found = candidates(copied).nearest(np.ones(DIM, np.float32), 300)
                assert len(found) <= 300 and (np.diff(found) > 0).all()
                assert len(found) == 0 or 0 <= found[0] <= found[-1] < TOOLS
        path.write_bytes(whole)
