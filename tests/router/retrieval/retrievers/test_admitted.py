"""Lists over what a filter admits: the whole list without the others, cut to its depth afterwards."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.indexing.lexical import write_lexical
from router.retrieval.retrievers import Admitted, DenseRetriever, DenseView, LexicalRetriever, Ranking, ToolVectors
from router.tools.field_text import FieldDocuments
from tests.router.retrieval.retrievers.crowds import unit

TOOLS, DIM = 600, 16
# Every third tool says alpha, every fifth beta: ties, and tools without either.
TEXTS = [f"{'alpha ' * (place % 3 == 0)}{'beta ' * (place % 5 == 0)}tool{place}" for place in range(TOOLS)]


@pytest.fixture(scope="module")
def lexical(tmp_path_factory: pytest.TempPathFactory) -> LexicalRetriever:
    folder = tmp_path_factory.mktemp("lexical")
    write_lexical([FieldDocuments(f"{place:03}", text, "", "", "", ()) for place, text in enumerate(TEXTS)], folder)
    return LexicalRetriever.open(folder / "name", TOOLS)


@pytest.fixture(scope="module")
def dense() -> DenseRetriever:
    random = np.random.default_rng(3)
    documents, phrases = (unit(random.normal(size=(TOOLS, DIM))) for _ in range(2))
    return DenseRetriever(ToolVectors.of(documents, phrases, np.arange(TOOLS + 1)))


@given(
    st.sets(st.integers(0, TOOLS - 1), max_size=40) | st.just(set(range(TOOLS))),
    st.integers(1, 60),
    st.sampled_from([None, *DenseView]),
)
def test_a_list_is_the_whole_one_without_what_is_not_admitted(
    lexical: LexicalRetriever, dense: DenseRetriever, kept: set[int], depth: int, view: DenseView | None
) -> None:
    def ranked(count: int, admitted: Admitted | None = None) -> Ranking:
        if view is None:
            return lexical.rank_terms(("alpha", "beta"), count, admitted)
        return dense.rank_vector(unit(np.arange(DIM, dtype=np.float64)), count, view, admitted)

    whole, found = ranked(TOOLS), ranked(depth, Admitted(np.isin(np.arange(TOOLS), list(kept))))
    assert found.ordinals.tolist() == [ordinal for ordinal in whole.ordinals.tolist() if ordinal in kept][:depth]
    assert not len(found) or (found.center, found.spread) == (whole.center, whole.spread)


def test_a_lexical_list_is_filled_however_far_down_the_admitted_tools_stand(lexical: LexicalRetriever) -> None:
    alone = Admitted((np.arange(TOOLS) % 3 == 0) & (np.arange(TOOLS) % 5 > 0))  # behind all that say both, and beta
    assert lexical.rank_terms(("alpha", "beta"), 5, alone).ordinals.tolist() == [3, 6, 9, 12, 18]
