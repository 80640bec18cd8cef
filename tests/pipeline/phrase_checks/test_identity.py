"""Names and labels that claim another source's identity are no part of a tool's subject."""

import pytest

from pipeline.phrase_checks.identity import earned_subjects
from pipeline.phrase_checks.subject import WrittenTool
from router.record import Origin
from tests.support.factories import make_record


def _subject_beside_stripe(name: str, provider: str, description: str = "Create moon charts.") -> tuple[str, list[str]]:
    origin = Origin("others.json", "/0")
    records = (
        make_record("createRefund", "stripe", description="Refund a charge."),
        make_record(name, provider, description=description, origin=origin),
    )
    subject, claims = earned_subjects([WrittenTool.of(record, None) for record in records])[1]
    return subject, [claim.text for claim in claims]


@pytest.mark.parametrize("name", ["createRefund_v2", "create_refnd", "creaet_refund", "myCreateRefund"])
def test_a_name_that_is_nearly_another_sources_is_left_out(name: str) -> None:
    assert _subject_beside_stripe(name, "sky") == ("sky: Create moon charts", [name])


def test_an_equal_name_is_left_out_but_is_no_claim_as_rivals_have_equal_names() -> None:
    assert _subject_beside_stripe("create_refund", "sky") == ("sky: Create moon charts", [])


@pytest.mark.parametrize("provider", ["strlpe", "Stripe (official)", "stripe payments"])
def test_a_label_that_is_nearly_anothers_is_left_out(provider: str) -> None:
    assert _subject_beside_stripe("moon_chart", provider) == ("moon_chart. Create moon charts.", [provider])


def test_a_name_of_which_the_description_says_nothing_is_left_out_unless_there_is_none() -> None:
    assert _subject_beside_stripe("wake_pager", "sky") == ("sky: Create moon charts", ["wake_pager"])
    assert _subject_beside_stripe("wake_pager", "sky", "") == ("sky: wake_pager", [])
    assert _subject_beside_stripe("moon_chart", "sky") == ("sky: moon_chart. Create moon charts.", [])


def test_a_name_stays_beside_a_description_in_another_language_unless_it_is_nearly_another_sources() -> None:
    for said in ("月の満ち欠けを計算します。", "Berechnet für einen Tag die Phase des Mondes."):
        assert _subject_beside_stripe("moon_chart", "sky", said)[1] == []
        assert _subject_beside_stripe("createRefund_v2", "sky", said)[1] == ["createRefund_v2"]


def test_of_a_sentence_the_first_clause_counts() -> None:
    assert _subject_beside_stripe("moon_chart", "sky", "Draw a moon chart, refund cards.") == (
        "sky: moon_chart. Draw a moon chart",
        [],
    )
