"""Phrases in German, Spanish and Japanese, found by requests of 20 each that were judged by hand.

The 20 tools of tests/data/languages are invented; a request has other words, or other forms of them, than the phrases.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.indexing.lexical import write_lexical
from quartermaster.evaluation import Judgement, read_judgements
from router import Signal
from router.expansion import Expansion
from router.retrieval.retrievers import LexicalRetriever
from router.text import terms, terms_by_language
from router.tools.field_text import FieldDocuments, project_record
from tests.support.factories import make_record
from tests.support.places import DATA

DATA = DATA / "languages"
ALL = ("en", "de", "es", "ja")
_ENGLISH = FieldDocuments("a", "", "", "refund", "", ())


def expansions() -> dict[str, Expansion]:
    lines = (DATA / "expansions.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: Expansion.from_json(row) for row in map(json.loads, lines)}


def judgements(language: str) -> list[Judgement]:
    return [judgement for judgement in read_judgements(DATA / "queries.jsonl") if judgement.slice == language]


class Searched:
    """The expansion's index of the judged tools, with the phrases in these languages."""

    def __init__(self, folder: Path, languages: Sequence[str]) -> None:
        self.languages = languages
        self.ids = sorted(expansions())
        documents = [project_record(make_record(tool_id=i), expansions()[i], languages) for i in self.ids]
        assert Signal.EXPANSION in write_lexical(documents, folder, languages)
        self.retriever = LexicalRetriever.open(folder / "expansion", len(self.ids), languages)

    def ranked(self, request: str) -> list[str]:
        if self.languages == ("en",):
            ranking = self.retriever.rank_terms(terms(request), 100)
        else:
            ranking = self.retriever.rank_by_language(terms_by_language(request, self.languages), 100)
        return [self.ids[ordinal] for ordinal in ranking.ordinals]

    def recall_at_5(self, language: str) -> float:
        judged = judgements(language)
        return sum(bool(j.required & {*self.ranked(j.request)[:5]}) for j in judged) / len(judged)


@pytest.fixture(scope="module")
def translated(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    return Searched(tmp_path_factory.mktemp("translated"), ALL)


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    return Searched(tmp_path_factory.mktemp("english"), ("en",))


@pytest.mark.parametrize("language", ALL[1:])
def test_20_requests_a_language_have_one_tool_each_and_are_no_copies_of_phrases(language: str) -> None:
    judged = judgements(language)
    assert sorted(tool_id for j in judged for tool_id in j.required) == sorted(expansions())
    phrases = {phrase for e in expansions().values() for phrase in e.translations[language]}
    assert len(phrases) == 80 and not phrases & {j.request for j in judged}


# Measured: .95, 1 and 1; of the English phrases alone, .25, .05 and 0.
@pytest.mark.parametrize(("language", "least", "untranslated"), [("de", 0.95, 0.25), ("es", 1, 0.05), ("ja", 1, 0)])
def test_a_request_finds_its_tool_by_phrases_in_its_language(
    translated: Searched, english: Searched, language: str, least: float, untranslated: float
) -> None:
    assert translated.recall_at_5(language) >= least
    assert english.recall_at_5(language) <= untranslated


def test_phrases_in_other_languages_leave_what_english_requests_find_alone(
    translated: Searched, english: Searched
) -> None:
    assert translated.recall_at_5("en") == english.recall_at_5("en") == 1
    for judgement in judgements("en"):
        assert translated.ranked(judgement.request)[0] == english.ranked(judgement.request)[0]


@pytest.mark.parametrize(
    ("language", "request_text", "phrase"),
    [
        ("de", "Rechnungen", "die Rechnung"),
        ("es", "reembolsos", "un reembolso"),
        ("fr", "les factures annulées", "annuler la facture"),
        ("ru", "отменить платежи", "отмена платежа"),
        ("tr", "siparişler", "sipariş"),
        ("ja", "請求書ある?", "未払いの請求書を一覧に"),
        ("zh", "查看发票", "发票列表"),
        ("ko", "청구서를 보여줘", "미납 청구서"),
        ("pl", "faktura", "Faktura VAT"),  # as it stands: there is no stemmer for Polish
        ("hi", "चालान", "चालान दिखाओ"),
    ],
)
def test_a_word_finds_its_other_forms_in_its_language(
    tmp_path: Path, language: str, request_text: str, phrase: str
) -> None:
    write_lexical(
        [FieldDocuments("a", "", "", "", "", (), {language: (phrase,)}), _ENGLISH], tmp_path, ("en", language)
    )
    retriever = LexicalRetriever.open(tmp_path / "expansion", 2, ("en", language))
    ranking = retriever.rank_by_language(terms_by_language(request_text, ("en", language)), 5)
    assert ranking.ordinals.tolist() == [0]


def test_only_the_expansion_has_fields_of_other_languages_and_none_without_translations(tmp_path: Path) -> None:
    def fields(folder: Path, signal: str) -> list[dict[str, Any]]:
        return list(json.loads((folder / signal / "meta.json").read_text(encoding="utf-8"))["schema"])

    write_lexical([FieldDocuments("a", "x", "y", "z", "", (), {"de": ("hallo",)})], tmp_path, ALL)
    names = {signal: [field["name"] for field in fields(tmp_path, signal)] for signal in ("name", "expansion")}
    assert names == {"name": ["text", "ordinal"], "expansion": ["text", "text_de", "text_es", "text_ja", "ordinal"]}
    (tmp_path / "english").mkdir()
    write_lexical([FieldDocuments("a", "x", "y", "refund a charge", "", ()), _ENGLISH], tmp_path / "english")
    plain = fields(tmp_path / "english", "expansion")
    assert [field["name"] for field in plain] == ["text", "ordinal"]
    assert plain[0]["options"]["indexing"]["tokenizer"] == "quartermaster"
