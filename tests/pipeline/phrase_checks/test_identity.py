"""Names and labels that claim another source's identity are no part of a tool's subject."""

import pytest

from pipeline.phrase_checks.identity import earned_subjects
from pipeline.phrase_checks.subject import WrittenTool
from router.record import Origin
from tests.support.factories import make_record


def _subject_beside_stripe(name: str, provider: str, description: str = "Create moon charts.") -> str | None:
    origin = Origin("others.json", "/0")
    records = (
        make_record("createRefund", "stripe", description="Refund a charge."),
        make_record(name, provider, description=description, origin=origin),
    )
    return earned_subjects([WrittenTool.of(record, None) for record in records]).get(1)


@pytest.mark.parametrize("name", ["createRefund", "createRefund_v2", "create_refnd", "creaet_refund", "myCreateRefund"])
def test_a_name_that_is_nearly_another_sources_is_left_out(name: str) -> None:
    assert _subject_beside_stripe(name, "sky") == "sky: Create moon charts"


@pytest.mark.parametrize("provider", ["strlpe", "Stripe (official)", "stripe payments"])
def test_a_label_that_is_nearly_anothers_is_left_out(provider: str) -> None:
    assert _subject_beside_stripe("moon_chart", provider) == "moon_chart. Create moon charts."


def test_a_name_of_which_the_description_says_nothing_is_left_out_unless_there_is_none() -> None:
    assert _subject_beside_stripe("wake_pager", "sky") == "sky: Create moon charts"
    assert _subject_beside_stripe("wake_pager", "sky", "") is None
    assert _subject_beside_stripe("moon_chart", "sky") is None
