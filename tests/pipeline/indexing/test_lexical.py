"""Indexes on disk."""

from pathlib import Path

import pytest
import tantivy

from pipeline.indexing.lexical import write_lexical
from router import Signal
from router.retrieval.retrievers import LexicalRetriever
from router.text import terms
from router.tools.field_text import FieldDocuments
from tests.support.segments import in_two_segments


def test_a_signal_without_any_text_has_no_index_and_tools_without_text_keep_their_ordinal(tmp_path: Path) -> None:
    texts = ["", "refund", ""]
    documents = [FieldDocuments(str(i), "x", text, "", "", ()) for i, text in enumerate(texts)]
    assert tuple(write_lexical(documents, tmp_path)) == (Signal.NAME, Signal.DESCRIPTION)
    assert not (tmp_path / "expansion").exists()
    ranking = LexicalRetriever.open(tmp_path / "description", 3).rank_terms(terms("refund"), 5)
    assert ranking.ordinals.tolist() == [1]


def test_the_mean_lengths_are_those_that_tantivy_scores_by(tmp_path: Path) -> None:
    texts = ["refund a charge", "Refunds getUserById", ""]  # 2, 5 and 0 terms: "a" is none, the name is four and one
    lengths = write_lexical([FieldDocuments(str(i), "x", text, "", "", ()) for i, text in enumerate(texts)], tmp_path)
    assert lengths == {Signal.NAME: 1.0, Signal.DESCRIPTION: pytest.approx(7 / 3)}
    searcher = tantivy.Index.open(str(tmp_path / "description")).searcher()
    query = tantivy.Query.term_query(tantivy.Index.open(str(tmp_path / "description")).schema, "text", "refund", "freq")
    said = query.explain(searcher, searcher.search(query, 1).hits[0][1]).to_json()
    assert '"description": "avgdl, average length of field"' in said and f'"value": {7 / 3:.5}' in said


def test_equal_documents_give_equal_bytes_and_segments_in_the_order_of_ordinals(tmp_path: Path) -> None:
    documents = [FieldDocuments(str(i), f"tool {i}", "", "refund", "", ()) for i in range(9)]
    written = []
    for attempt in range(2):
        with in_two_segments(5):
            write_lexical(documents, tmp_path / str(attempt))
        files = sorted((tmp_path / str(attempt)).rglob("*"))
        written.append([(path.name, path.is_file() and path.read_bytes()) for path in files])
    assert written[0] == written[1]
    index = tantivy.Index.open(str(tmp_path / "0" / "expansion"))
    searcher = index.searcher()
    assert searcher.num_segments == 2 and searcher.num_docs == 9
    ranking = LexicalRetriever.open(tmp_path / "0" / "expansion", 9).rank_terms(terms("refund"), 7)
    assert ranking.ordinals.tolist() == list(range(7))


@pytest.mark.nightly
def test_ten_thousand_tools_lie_in_one_segment(tmp_path: Path) -> None:
    documents = [FieldDocuments(str(i), f"tool {i}", "", "", "", ()) for i in range(10_000)]
    write_lexical(documents, tmp_path)
    assert len(list((tmp_path / "name").glob("*.idx"))) == 1
