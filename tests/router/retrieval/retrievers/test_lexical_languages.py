"""Requests over the fields of several languages."""

import math
from pathlib import Path

import pytest

from pipeline.indexing.lexical import write_lexical
from router import SnapshotInvalid
from router.retrieval.retrievers import MAX_QUERY_TERMS, LexicalRetriever
from router.text import LANGUAGES, STOP_WORDS, analyzer, terms, terms_by_language
from router.tools.field_text import FieldDocuments

# ln(1 + (N - n + .5) / (n + .5)) for a term of 1 of 2 tools; in documents of average length its tf part is 1.
_IDF = math.log(1 + 1.5 / 1.5)


def opened(folder: Path, *texts: tuple[str, str]) -> LexicalRetriever:
    """Tools of an English text and German phrases."""
    documents = [
        FieldDocuments(str(i), "", "", english, "", (), {"de": (de,)}) for i, (english, de) in enumerate(texts)
    ]
    write_lexical(documents, folder, ("en", "de"))
    return LexicalRetriever.open(folder / "expansion", len(texts), ("en", "de"))


def test_every_language_has_an_analyzer_that_keeps_latin_words() -> None:
    assert all(len(analyzer(language).analyze("Parley 42")) == 2 for language in LANGUAGES)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Rechnungen für Kunden", ["rechnung", "kund"]),  # "für" is a stop-word, with its umlaut
        ("de", "Grüße", ["gruss"]),
        ("es", "las devoluciones", ["devolu"]),
        ("fr", "les réunions annulées", ["reunion", "annul"]),
        ("ja", "請求 Slack", ["請求", "slack"]),
        ("pl", "Faktury źródłowe", ["faktury", "zrodlowe"]),  # lower case and no accents, nothing else
    ],
)
def test_terms_are_those_of_the_language(language: str, text: str, expected: list[str]) -> None:
    assert analyzer(language).analyze(text) == expected


def test_each_word_has_its_term_in_each_language() -> None:
    assert list(terms_by_language("Slack Rechnungen", ("en", "de"))) == [
        {"en": "slack", "de": "slack"},
        {"en": "rechnungen", "de": "rechnung"},
    ]


def test_a_term_stands_with_the_first_word_that_gives_it() -> None:
    assert list(terms_by_language("Rechnung Rechnungen Rechnung", ("en", "de"))) == [
        {"en": "rechnung", "de": "rechnung"},
        {"en": "rechnungen"},
    ]


def test_english_stop_words_are_asked_for_in_no_language() -> None:
    assert list(terms_by_language(" ".join(STOP_WORDS), ("en", "pl", "ja"))) == []


def test_the_english_terms_are_those_of_an_english_request() -> None:
    text = "please list all getUserById charges, and list them again"
    found = [word["en"] for word in terms_by_language(text, ("en", "de", "ja")) if "en" in word]
    assert found == list(dict.fromkeys(terms(text)))


def test_a_word_that_languages_share_counts_once_in_the_one_it_scores_best_in(tmp_path: Path) -> None:
    # In English both tools have the word, in German one of them.
    retriever = opened(tmp_path, ("slack", "slack"), ("slack", "kanal"))
    ranking = retriever.rank_by_language(terms_by_language("slack", ("en", "de")), 5)
    both = math.log(1 + 0.5 / 2.5)
    assert ranking.ordinals.tolist() == [0, 1]
    assert ranking.scores.tolist() == pytest.approx([_IDF, both], rel=1e-5)


def test_words_of_two_languages_add_up(tmp_path: Path) -> None:
    retriever = opened(tmp_path, ("refund", "rechnung"), ("other", "kanal"))
    ranking = retriever.rank_by_language(terms_by_language("refund Rechnungen", ("en", "de")), 5)
    assert ranking.ordinals.tolist() == [0]
    assert ranking.scores[0] == pytest.approx(2 * _IDF, rel=1e-5)


def test_a_request_in_english_scores_as_in_an_english_index(tmp_path: Path) -> None:
    texts = ("refund a charge", "list the charges of a customer", "send a message")
    (tmp_path / "other").mkdir()
    write_lexical([FieldDocuments(str(i), "", "", text, "", ()) for i, text in enumerate(texts)], tmp_path / "other")
    alone = LexicalRetriever.open(tmp_path / "other" / "expansion", 3).rank_terms(terms("a customer's charges"), 5)
    retriever = opened(tmp_path, *((text, "kanal") for text in texts))
    among = retriever.rank_by_language(terms_by_language("a customer's charges", ("en", "de")), 5)
    assert among.ordinals.tolist() == alone.ordinals.tolist() == [1, 0]
    assert among.scores.tolist() == alone.scores.tolist()


def test_a_request_of_nothing_but_stop_words_finds_nothing(tmp_path: Path) -> None:
    retriever = opened(tmp_path, ("refund", "rechnung"))
    assert len(retriever.rank_by_language(terms_by_language("can you please", ("en", "de")), 5)) == 0


def test_a_very_long_request_is_analysed_no_further_than_it_is_searched(tmp_path: Path) -> None:
    retriever = opened(tmp_path, ("refund", "rechnung"))
    words = terms_by_language(" ".join(f"word{i}" for i in range(9_000)), ("en", "de"))
    retriever.rank_by_language(words, 5)
    # Three forms a word: "word0" is word, 0 and word0; "word" is new once.
    assert next(words)["en"] == f"word{(MAX_QUERY_TERMS - 1) // 2}"


@pytest.mark.parametrize("language", ["es", "tlh"])
def test_an_index_that_lacks_a_language_is_refused(tmp_path: Path, language: str) -> None:
    opened(tmp_path, ("refund", "rechnung"))
    with pytest.raises(SnapshotInvalid, match=f"no phrases in the language '{language}'"):
        LexicalRetriever.open(tmp_path / "expansion", 1, ("en", "de", language))
