"""Which tools of a build are tried, on which requests, beside which claim, and which gain is too much."""

from pathlib import Path

import pytest

from pipeline.inspection.served_tools import ServedTexts
from pipeline.publish.quarantine import changed_tools, exceeds, identity_text, probes_of
from pipeline.settings import PublishSettings
from quartermaster.evaluation import Judgement
from router.snapshot.snapshot import Snapshot
from router.tools.field_text import FieldDocuments
from tests.support.factories import make_record


@pytest.mark.parametrize(
    ("requests", "distance", "too_much"), [(10, 0.6, True), (10, 0.5, False), (9, 0.6, False), (9, 0.5, False)]
)
def test_many_requests_far_from_the_claim_are_too_much(requests: int, distance: float, too_much: bool) -> None:
    settings = PublishSettings(quarantine_requests=10, quarantine_distance=0.5)
    assert exceeds(settings, requests, distance) is too_much


def test_a_claim_is_the_name_in_words_and_the_first_sentence_at_most_120_characters_of_it() -> None:
    assert identity_text(make_record("listCharges", description="Returns\n charges. Use it for refunds.")) == (
        "list charges. Returns charges."
    )
    assert identity_text(make_record("顧客", description="顧客を探す。何でもする。")).endswith(". 顧客を探す。")
    assert len(identity_text(make_record("pay", description="refund " * 100))) == len("pay. ") + 120


def _document(number: int, text: str = "") -> FieldDocuments:
    return FieldDocuments(f"t{number}", "name", "", text, "dense", (), {})


@pytest.mark.parametrize(("rewritten", "tried"), [(1, 1), (3, 3), (4, 0)])
def test_new_and_changed_tools_are_tried_and_rewritten_ones_unless_they_are_many(rewritten: int, tried: int) -> None:
    served = {f"t{n}": ServedTexts("before" if n == 8 else "hash", ("name", "", "", "dense")) for n in range(9)}
    documents = [_document(n, "anew" if n < rewritten else "") for n in range(10)]
    found = changed_tools({f"t{n}": "hash" for n in range(10)}, documents, served)
    assert (set(found.new), set(found.changed), len(found.rewritten)) == ({"t9"}, {"t8"}, rewritten)
    assert set(found.hashes) == {"t8", "t9", *(f"t{n}" for n in range(tried))}


def test_half_of_the_probes_are_phrases_and_none_is_of_a_tool_that_is_gone(snapshot: Path) -> None:
    base, gone = Snapshot.open(snapshot), "stripe/create_refund"
    judged = [
        Judgement(f"j{n}", f"request {n}", frozenset({tool}), frozenset({tool}), "single")
        for n, tool in enumerate(["stripe/list_charges"] * 40 + [gone, "choir/sing"])
    ]
    probes = probes_of(base, judged, {gone}, 20)
    of_judged = [probe for probe in probes if probe.request.startswith("request ")]
    assert (len(probes), len(of_judged)) == (20, 10)
    everything = probes_of(base, judged, {gone}, 1_000)
    assert not any(gone in probe.tools or "choir/sing" in probe.tools for probe in everything)
    assert len(everything) == 40 + 7 * 3  # two phrases of each tool that is left, and when to use it
    (refund,) = (probe for probe in probes_of(base, [], (), 1_000) if probe.request == "undo a payment")
    assert refund.is_of(gone, None) and refund.is_of("stripe/other", "stripe")
    assert not refund.is_of("linear/other", "linear")
