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
BOTH = ("en", "de")


def opened(folder: Path, *texts: tuple[str, str]) -> LexicalRetriever:
    """Tools of an English text and German phrases."""
    documents = [
        FieldDocuments(str(i), "", "", english, "", (), {"de": (de,)}) for i, (english, de) in enumerate(texts)
    ]
    write_lexical(documents, folder, BOTH)
    return LexicalRetriever.open(folder / "expansion", len(texts), BOTH)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Rechnungen für Kunden", ["rechnung", "kund"]),  # "für" is a stop-word, with its umlaut
        ("de", "Grüße", ["gruss"]),
        ("fr", "les réunions annulées", ["reunion", "annul"]),
        ("ja", "請求 Slack", ["請求", "slack"]),
        ("pl", "Faktury źródłowe", ["faktury", "zrodlowe"]),  # lower case and no accents, nothing else
    ],
)
def test_terms_are_those_of_the_language(language: str, text: str, expected: list[str]) -> None:
    assert analyzer(language).analyze(text) == expected
    assert all(len(analyzer(known).analyze("Parley 42")) == 2 for known in LANGUAGES)


@pytest.mark.parametrize(
    ("request_text", "languages", "words"),
    [
        ("Slack Rechnungen", BOTH, [{"en": "slack", "de": "slack"}, {"en": "rechnungen", "de": "rechnung"}]),
        # A term stands with the first word that gives it.
        ("Rechnung Rechnungen Rechnung", BOTH, [{"en": "rechnung", "de": "rechnung"}, {"en": "rechnungen"}]),
        (" ".join(STOP_WORDS), ("en", "pl", "ja"), []),
    ],
)
def test_each_word_has_its_term_in_each_language(
    request_text: str, languages: tuple[str, ...], words: list[dict[str, str]]
) -> None:
    assert list(terms_by_language(request_text, languages)) == words


def test_the_english_terms_are_those_of_an_english_request() -> None:
    text = "please list all getUserById charges, and list them again"
    found = [word["en"] for word in terms_by_language(text, ("en", "de", "ja")) if "en" in word]
    assert found == list(dict.fromkeys(terms(text)))


@pytest.mark.parametrize(
    ("texts", "request_text", "expected"),
    [
        # In English both tools have the word, in German one of them: it counts where it scores best.
        ([("slack", "slack"), ("slack", "kanal")], "slack", {0: _IDF, 1: math.log(1 + 0.5 / 2.5)}),
        # Words of two languages add up.
        ([("refund", "rechnung"), ("other", "kanal")], "refund Rechnungen", {0: 2 * _IDF}),
        ([("refund", "rechnung")], "can you please", {}),
    ],
)
def test_a_word_counts_once_in_the_language_that_it_scores_best_in(
    tmp_path: Path, texts: list[tuple[str, str]], request_text: str, expected: dict[int, float]
) -> None:
    ranking = opened(tmp_path, *texts).rank_by_language(terms_by_language(request_text, BOTH), 5)
    assert ranking.ordinals.tolist() == list(expected)
    assert ranking.scores.tolist() == pytest.approx(list(expected.values()), rel=1e-5)


def test_a_request_in_english_scores_as_in_an_english_index(tmp_path: Path) -> None:
    texts = ("refund a charge", "list the charges of a customer", "send a message")
    (tmp_path / "other").mkdir()
    write_lexical([FieldDocuments(str(i), "", "", text, "", ()) for i, text in enumerate(texts)], tmp_path / "other")
    alone = LexicalRetriever.open(tmp_path / "other" / "expansion", 3).rank_terms(terms("a customer's charges"), 5)
    retriever = opened(tmp_path, *((text, "kanal") for text in texts))
    among = retriever.rank_by_language(terms_by_language("a customer's charges", BOTH), 5)
    assert among.ordinals.tolist() == alone.ordinals.tolist() == [1, 0]
    assert among.scores.tolist() == alone.scores.tolist()


def test_a_word_of_two_languages_adds_to_the_spread_once(tmp_path: Path) -> None:
    retriever = opened(tmp_path, ("slack", "slack"), ("refund", "kanal"))
    english, both = (
        retriever.rank_by_language(iter([word]), 5).spread for word in ({"en": "slack"}, {"en": "slack", "de": "slack"})
    )
    assert both == english > 0


def test_a_very_long_request_is_analysed_no_further_than_it_is_searched(tmp_path: Path) -> None:
    words = terms_by_language(" ".join(f"word{i}" for i in range(9_000)), BOTH)
    opened(tmp_path, ("refund", "rechnung")).rank_by_language(words, 5)
    # Three forms a word: "word0" is word, 0 and word0; "word" is new once.
    assert next(words)["en"] == f"word{(MAX_QUERY_TERMS - 1) // 2}"
    for language in ("es", "tlh"):
        with pytest.raises(SnapshotInvalid, match=f"no phrases in the language '{language}'"):
            LexicalRetriever.open(tmp_path / "expansion", 1, (*BOTH, language))
