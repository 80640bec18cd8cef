"""Lexical indexes that are put together of parts: the same bytes and the same rankings as those of one process."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import RunAborted
from pipeline.indexing.lexical import write_lexical
from pipeline.indexing.segments import assemble, shards, write_segment
from router import Signal
from router.retrieval.retrievers import LexicalRetriever
from router.text import terms_by_language
from router.tools.field_text import FieldDocuments

LANGUAGES = ("en", "de")


def document(description: str, expansion: str = "", german: str = "") -> FieldDocuments:
    return FieldDocuments("id", "", description, expansion, "", (), {"de": (german,)} if german else {})


DOCUMENTS = [
    document("refund a charge", "give money back", "geld zurück"),
    document("list charges"),
    document(""),
    document("refund a charge", "money", ""),
    document("list the charges of a customer", "", "zahlungen"),
]


def written(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_parts_that_crossed_processes_in_any_order_give_the_bytes_of_one_process(tmp_path: Path) -> None:
    plain, assembled = tmp_path / "plain", tmp_path / "assembled"
    plain.mkdir()
    parts = [write_segment(DOCUMENTS[first : first + 3], first, tmp_path / "shared", LANGUAGES) for first in (0, 3)]
    lengths = assemble(pickle.loads(pickle.dumps(parts[::-1])), assembled)
    assert lengths == write_lexical(DOCUMENTS, plain, LANGUAGES, most_in_one=2)
    assert written(assembled) == written(plain)
    assert sum(name.startswith("description/") and name.endswith(".idx") for name in written(plain)) == 2
    with pytest.raises(RunAborted, match="no part for the tools from 0: the next one begins at 3"):
        assemble(parts[1:], tmp_path / "index")


def test_a_large_catalog_has_two_parts_of_all_its_tools() -> None:
    assert shards(0) == [] and shards(65_536) == [range(65_536)]
    assert shards(65_537) == [range(32_769), range(32_769, 65_537)]


WORDS = "refund charge customer money list create".split()
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@settings(max_examples=settings().max_examples // 20 or 1)  # each writes eight indexes to disk
@given(
    documents=st.lists(st.builds(document, TEXTS, TEXTS, TEXTS), max_size=10),
    request=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
    depth=st.integers(1, 10),
)
def test_two_segments_rank_as_one_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, documents: list[FieldDocuments], request: str, depth: int
) -> None:
    documents = [document("charge", "money"), *documents, document("list")]
    one, several = (tmp_path_factory.mktemp("indexes") for _ in range(2))
    assert write_lexical(documents, several, LANGUAGES, most_in_one=0) == write_lexical(documents, one, LANGUAGES)
    for signal in (Signal.DESCRIPTION, Signal.EXPANSION):
        languages = LANGUAGES if signal is Signal.EXPANSION else ("en",)
        words = list(terms_by_language(request, languages))
        expected, found = (
            LexicalRetriever.open(at / signal, len(documents), languages).rank_by_language(words, depth)
            for at in (one, several)
        )
        assert np.array_equal(expected.ordinals, found.ordinals)
        assert np.array_equal(expected.scores, found.scores) and expected.spread == found.spread
