"""Requests over the fields of several languages."""

import math
from pathlib import Path

import pytest

from pipeline.indexing.lexical import write_lexical
from router import SnapshotInvalid
from router.retrieval.retrievers import MAX_QUERY_TERMS, LexicalRetriever
from router.text import LANGUAGES, analyzer, terms, terms_by_language
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
        ("de", "Grüße für Kunden", ["gruss", "kund"]),  # "für" is a stop-word, with its umlaut
        ("fr", "les réunions annulées", ["reunion", "annul"]),
        ("ja", "請求 Slack", ["請求", "slack"]),
        ("pl", "Faktury źródłowe", ["faktury", "zrodlowe"]),  # lower case and no accents, nothing else
        *((language, "Parley 42", None) for language in LANGUAGES),
    ],
)
def test_terms_are_those_of_the_language(language: str, text: str, expected: list[str] | None) -> None:
    found = analyzer(language).analyze(text)
    assert found == expected or (expected is None and len(found) == 2)


def test_each_word_has_its_term_in_each_language_and_a_term_stands_with_the_first_word_that_gives_it() -> None:
    words = terms_by_language("Slack Rechnung Rechnungen Rechnung please", BOTH)
    assert list(words) == [{"en": "slack", "de": "slack"}, {"en": "rechnung", "de": "rechnung"}, {"en": "rechnungen"}]


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


def test_an_english_request_ranks_as_in_an_english_index_and_a_word_of_two_languages_spreads_once(
    tmp_path: Path,
) -> None:
    texts = ("refund a charge", "list the charges of a customer", "send slack a message")
    retriever, request = opened(tmp_path, *((text, "slack" * (text == texts[2])) for text in texts)), "getting charges"
    (tmp_path / "other").mkdir()
    write_lexical([FieldDocuments(str(i), "", "", text, "", ()) for i, text in enumerate(texts)], tmp_path / "other")
    alone = LexicalRetriever.open(tmp_path / "other" / "expansion", 3).rank_terms(terms(request), 5)
    among = retriever.rank_by_language(terms_by_language(request, BOTH), 5)
    assert among.ordinals.tolist() == alone.ordinals.tolist() == [0, 1]
    assert among.scores.tolist() == alone.scores.tolist()
    words = ({"en": "slack"}, {"en": "slack", "de": "slack"})
    english, both = (retriever.rank_by_language(iter([word]), 5).spread for word in words)
    assert both == english > 0


def test_a_very_long_request_is_analysed_no_further_than_it_is_searched(tmp_path: Path) -> None:
    words = terms_by_language(" ".join(f"word{i}" for i in range(9_000)), BOTH)
    opened(tmp_path, ("refund", "rechnung")).rank_by_language(words, 5)
    # Three forms a word: "word0" is word, 0 and word0; "word" is new once.
    assert next(words)["en"] == f"word{(MAX_QUERY_TERMS - 1) // 2}"


@pytest.mark.parametrize("language", ["es", "tlh"])
def test_a_language_without_phrases_is_refused(tmp_path: Path, language: str) -> None:
    opened(tmp_path, ("refund", "rechnung"))
    with pytest.raises(SnapshotInvalid, match=f"no phrases in the language '{language}'"):
        LexicalRetriever.open(tmp_path / "expansion", 1, (*BOTH, language))
