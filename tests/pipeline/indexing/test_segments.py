"""Lexical indexes that are put together of parts: the same bytes and the same rankings as those of one process."""

import json
import os
import pickle
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import RunAborted
from pipeline.indexing.lexical import write_lexical
from pipeline.indexing.segments import SegmentPart, assemble, shards, write_segment
from router import Signal
from router.retrieval.retrievers import LexicalRetriever, indexing
from router.retrieval.retrievers.indexing import index_field
from router.retrieval.retrievers.retriever import Admitted
from router.text import terms, terms_by_language
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


def parts_of(documents: Sequence[FieldDocuments], size: int, folder: Path) -> list[SegmentPart]:
    return [
        write_segment(documents[shard.start : shard.stop], shard.start, folder, LANGUAGES)
        for shard in (range(first, min(first + size, len(documents))) for first in range(0, len(documents), size))
    ]


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_the_same_documents_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = made(tmp_path / "first"), made(tmp_path / "second")
    lengths = write_lexical(DOCUMENTS, first, LANGUAGES)
    assert lengths == write_lexical(DOCUMENTS, second, LANGUAGES)
    assert written(first) == written(second)
    assert {name.split("/")[0] for name in written(first)} == {"description", "expansion"}


def test_parts_that_crossed_processes_in_any_order_give_the_bytes_of_one_process(tmp_path: Path) -> None:
    plain, assembled = made(tmp_path / "plain"), made(tmp_path / "assembled")
    parts = parts_of(DOCUMENTS, 3, tmp_path / "shared")
    lengths = assemble(pickle.loads(pickle.dumps(parts[::-1])), assembled)
    assert lengths == write_lexical(DOCUMENTS, plain, LANGUAGES, most_in_one=2)
    assert written(assembled) == written(plain)
    assert sum(name.startswith("description/") and name.endswith(".idx") for name in written(plain)) == 2


def test_a_part_that_was_written_twice_is_the_same_part(tmp_path: Path) -> None:
    once, again = (parts_of(DOCUMENTS, 2, tmp_path / "shared") for _ in range(2))
    assemble(once, made(tmp_path / "once"))
    assemble([once[0], again[1], once[2]], made(tmp_path / "mixed"))
    assert written(tmp_path / "once") == written(tmp_path / "mixed")


def test_without_hard_links_the_files_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = parts_of(DOCUMENTS, 2, tmp_path / "shared")
    assemble(parts, made(tmp_path / "linked"))

    def refuse(*_: object) -> NoReturn:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    assemble(parts, made(tmp_path / "copied"))
    assert written(tmp_path / "copied") == written(tmp_path / "linked")


def test_equal_scores_are_cut_in_the_order_of_ordinals_across_segments(tmp_path: Path) -> None:
    write_lexical([document("refund a charge")] * 11, tmp_path, most_in_one=2)
    retriever = LexicalRetriever.open(tmp_path / "description", 11)
    for depth in range(1, 12):
        assert retriever.rank_terms(terms("refund a charge"), depth).ordinals.tolist() == list(range(depth))


def test_tools_of_a_part_without_a_signals_text_count_in_its_index(tmp_path: Path) -> None:
    documents = [document("refund a charge"), *[document("", "money")] * 3]
    assert write_lexical(documents, tmp_path, most_in_one=2) == {Signal.DESCRIPTION: 0.5, Signal.EXPANSION: 0.75}
    assert LexicalRetriever.open(tmp_path / "description", 4).rank_terms(["refund"], 4).ordinals.tolist() == [0]


def test_an_index_that_tantivy_itself_named_opens_as_before(tmp_path: Path) -> None:
    index_field(Signal.DESCRIPTION, DOCUMENTS, folder=tmp_path / "description")
    retriever = LexicalRetriever.open(tmp_path / "description", len(DOCUMENTS))
    assert retriever.rank_terms(terms("refund"), 5).ordinals.tolist() == [0, 3]


def test_texts_too_long_for_one_segment_are_indexed_in_halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "_HEAP_BYTES", 15_000_000)  # the least that Tantivy takes
    words = ["".join(letters) + "q" for letters in islice(product("bcdfghjklm", repeat=5), 80_000)]
    documents = [document(" ".join(words[first : first + 2_000])) for first in range(0, len(words), 2_000)]
    write_lexical(documents, tmp_path)
    segments = json.loads((tmp_path / "description" / "meta.json").read_bytes())["segments"]
    assert len(segments) > 1 and sum(segment["max_doc"] for segment in segments) == 40
    retriever = LexicalRetriever.open(tmp_path / "description", 40)
    for ordinal in (0, 19, 20, 39):
        assert retriever.rank_terms(terms(words[2_000 * ordinal]), 5).ordinals.tolist() == [ordinal]


def test_a_large_catalog_has_two_parts_of_all_its_tools() -> None:
    assert shards(0) == [] and shards(65_536) == [range(65_536)]
    assert shards(65_537) == [range(32_769), range(32_769, 65_537)]
    assert shards(1_000_000) == [range(500_000), range(500_000, 1_000_000)]


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    first, _, last = parts_of(DOCUMENTS, 2, tmp_path / "shared")
    with pytest.raises(RunAborted, match="no part for the tools from 2: the next one begins at 4"):
        assemble([last, first], made(tmp_path / "index"))


def test_parts_of_different_versions_of_tantivy_are_refused(tmp_path: Path) -> None:
    (part,) = parts_of(DOCUMENTS, 5, tmp_path / "shared")
    with pytest.raises(RunAborted, match=r"a worker indexed with tantivy 0\.1, and this process has"):
        assemble([replace(part, tantivy="0.1")], made(tmp_path / "index"))


def test_parts_of_different_languages_are_refused(tmp_path: Path) -> None:
    english = write_segment(DOCUMENTS, 0, tmp_path / "shared")
    both = write_segment(DOCUMENTS, len(DOCUMENTS), tmp_path / "shared", LANGUAGES)
    with pytest.raises(RunAborted, match="other languages"):
        assemble([english, both], made(tmp_path / "index"))


WORDS = "refund charge customer money list create".split()
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
REQUESTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def assert_same_rankings(
    one: Path, several: Path, tools: int, request: str, depth: int, admitted: Admitted | None
) -> None:
    for signal in (Signal.DESCRIPTION, Signal.EXPANSION):
        languages = LANGUAGES if signal is Signal.EXPANSION else ("en",)
        words = list(terms_by_language(request, languages))
        expected, found = (
            LexicalRetriever.open(at / signal, tools, languages).rank_by_language(words, depth, admitted)
            for at in (one, several)
        )
        assert np.array_equal(expected.ordinals, found.ordinals)
        assert np.array_equal(expected.scores, found.scores) and expected.spread == found.spread


@settings(max_examples=8, deadline=None)
@given(
    documents=st.lists(st.builds(document, TEXTS, TEXTS, TEXTS), max_size=10),
    request=REQUESTS,
    depth=st.integers(1, 10),
)
def test_two_segments_rank_as_one_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, documents: list[FieldDocuments], request: str, depth: int
) -> None:
    documents = [document("charge", "money"), *documents, document("list")]
    one, several = (tmp_path_factory.mktemp("indexes") for _ in range(2))
    assert write_lexical(documents, several, LANGUAGES, most_in_one=0) == write_lexical(documents, one, LANGUAGES)
    assert_same_rankings(one, several, len(documents), request, depth, None)


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The indexes of a thousand tools of six words, most of which tie: in one segment, and in two."""
    drawn = random.Random(20)
    texts = [" ".join(drawn.choices(WORDS, k=drawn.randrange(7))) for _ in range(3_000)]
    documents = [document(*texts[first : first + 3]) for first in range(0, 3_000, 3)]
    one, several = (tmp_path_factory.mktemp("indexes") for _ in range(2))
    write_lexical(documents, one, LANGUAGES)
    write_lexical(documents, several, LANGUAGES, most_in_one=150)
    return one, several


@settings(max_examples=60, deadline=None)
@given(request=REQUESTS, depth=st.integers(1, 1_000), share=st.sampled_from([1, 0.5, 0.02]), seed=st.integers(0, 99))
def test_ties_and_filters_are_cut_alike_in_one_segment_and_in_two(
    thousand: tuple[Path, Path], request: str, depth: int, share: float, seed: int
) -> None:
    mask = np.random.default_rng(seed).random(1_000) < share
    assert_same_rankings(*thousand, 1_000, request, depth, None if share == 1 else Admitted(mask))
