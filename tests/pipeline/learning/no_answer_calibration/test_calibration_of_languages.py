"""A catalog with phrases in German and Japanese is calibrated for both, by real indexes."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipeline.build import build
from pipeline.learning.no_answer_calibration import examples
from pipeline.learning.no_answer_calibration.background import talk
from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker
from pipeline.learning.no_answer_calibration.examples import examples_by_language
from pipeline.learning.no_answer_calibration.fitting import calibrate
from pipeline.learning.no_answer_calibration.held_out_phrases import rank_held_out_translations
from pipeline.settings import load
from quartermaster.evaluation import Judgement
from router import Router, Signal
from router.retrieval.no_answer_calibration import BEST_BM25, OTHER_LANGUAGE
from router.snapshot.snapshot import Snapshot
from router.tools.field_text import FieldDocuments
from tests.support.places import DATA

ENRICHMENT = {"generator": "none", "languages": ["de", "ja"], "expansions": "expansions.jsonl"}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Twenty tools with four phrases in each language, without vectors."""
    settings = load(DATA / "languages", {"enrichment": ENRICHMENT, "vectors": {"encoder": "none"}}, environment={})
    return Snapshot.open(build(settings, workspace=tmp_path_factory.mktemp("ws")).snapshot)


def test_a_language_with_fifty_phrases_is_calibrated_and_others_have_the_generic_guess(opened: Snapshot) -> None:
    sources = {one.language: one.source for one in opened.calibrations}
    assert sources == {"en": "generic", OTHER_LANGUAGE: "generic", "de": "phrases", "ja": "phrases"}
    german = next(one for one in opened.calibrations if one.language == "de")
    # Three of each tool's four phrases are held out, one at a time.
    assert german.evidence["answerable"] == 3 * 20 and german.evidence["everyday"] == len(talk()["de"])
    router = Router(opened)
    said = router.route("Zeig mir bitte die offenen Rechnungen")
    assert said.calibrated and said.fits is not None and said.fits > 0.9 and not said.none_fits
    assert router.route("この顧客の請求書を見せて").calibrated
    other = router.route("montre les factures de ce client")
    assert other.fits is not None and other.calibrated is False and not other.none_fits


def documents(*german: tuple[str, ...]) -> list[FieldDocuments]:
    return [FieldDocuments(str(tool), "", "", "", "", (), {"de": phrases}) for tool, phrases in enumerate(german)]


def test_a_translation_is_ranked_by_an_index_without_it(opened: Snapshot) -> None:
    twenty = documents(("Rechnung zeigen", "Beleg zeigen"), ("Wetter morgen", "Regen heute"), *[()] * 18)
    held_out = rank_held_out_translations(BatchRanker(opened), twenty, enough=2)["de"]
    lists = [[one.rankings[Signal.EXPANSION].ordinals.tolist() for one in pair] for pair in held_out]
    # "zeigen" is left to the first tool by its other phrase, and to none where that tool is not there.
    assert lists == [[[0], []], [[], []]]
    assert held_out[0][0].evidence[BEST_BM25] > held_out[1][0].evidence[BEST_BM25] == 0


def judged(requests: Sequence[str], tool: str) -> list[Judgement]:
    return [Judgement(r, r, frozenset({tool}), frozenset({tool}), "single") for r in requests]


def test_fifty_judged_requests_calibrate_their_language_and_fewer_do_not(opened: Snapshot) -> None:
    spanish = judged([f"muestra las facturas de la empresa {n}" for n in range(50)], "paywell/list_invoices")
    few = judged([f"montre les factures que nous avons pour le client {n}" for n in range(49)], "paywell/list_invoices")
    found = examples_by_language(BatchRanker(opened), [*spanish, *few], ())
    assert list(found) == ["en", OTHER_LANGUAGE, "es"]
    assert len(found["es"].answerable) == len(found["es"].absent) == 50 and len(found["es"].talk) == len(talk()["es"])
    ordinal = opened.records.ordinal("paywell/list_invoices")
    assert all(ordinal not in ranking.ordinals for query in found["es"].absent for ranking in query.rankings.values())


def test_tools_in_a_language_give_its_phrases_beside_few_translations_and_judged_requests_in_english(
    opened: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    german = replace(opened, manifest=replace(opened.manifest, tool_languages=("de",)))
    pair = (BatchRanker(german).rank(["Rechnung zeigen"])[0],) * 2
    monkeypatch.setattr(examples, "rank_held_out_phrases", lambda ranker: {"de": [pair] * 50})
    monkeypatch.setattr(examples, "rank_held_out_translations", lambda *given: {"de": [pair] * 2})
    asked = judged([f"show the invoices of company {n}" for n in range(50)], "paywell/list_invoices")
    found = examples_by_language(BatchRanker(german), asked, ())
    assert {language: one.source for language, one in found.items()} == {
        "en": "judgements",
        OTHER_LANGUAGE: "generic",
        "de": "phrases",
    }


def test_a_language_without_small_talk_is_calibrated_against_what_is_judged_to_have_no_tool(opened: Snapshot) -> None:
    asked = judged([f"ödenmemiş invoices faturalarını göster {n}" for n in range(50)], "paywell/list_invoices")
    rain = [f"yarın yağmur yağacak mı {n}" for n in range(20)]
    none = [Judgement(request, request, frozenset(), frozenset(), "none") for request in rain]
    turkish = [one for one in calibrate(opened, [*asked, *none]).calibrations if one.language == "tr"]
    assert [(one.source, one.evidence["none"], one.evidence["everyday"]) for one in turkish] == [("judgements", 20, 0)]
    assert turkish[0].evidence["auc"] == 1  # "invoices" is a word of a tool, of the others none is


def test_what_no_tool_answers_is_told_in_ten_languages() -> None:
    assert sorted(talk()) == ["ar", "de", "es", "fr", "hi", "ja", "ko", "pt", "ru", "zh"]
    assert all(len(set(lines)) == len(lines) == 22 for lines in talk().values())
