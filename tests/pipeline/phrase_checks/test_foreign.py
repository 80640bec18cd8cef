"""Phrases that their own subject does not support, and that fit a tool of another source, are not indexed.

Vectors count words: a text is near to what it shares words with. Each honest tool has words of its own.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.no_answer_calibration.background import background
from pipeline.phrase_checks.foreign import find_foreign
from pipeline.phrase_checks.subject import Findings, WrittenTool
from pipeline.settings import AssessmentSettings
from router.record import Origin, ToolRecord
from tests.support.factories import make_expansion, make_record

_REFUND = make_record(
    name="refund_charge", provider="bank", description="refund charge of shopper.", origin=Origin("bank.json", "/0")
)
_MOON = make_record(name="moon_phase", provider="sky", description="tells moon phase.", origin=Origin("sky.json", "/0"))
_OWN = ("tells moon phase now", "moon phase tonight")
_DEMANDS = ("refund that shopper quickly", "shopper wants charge back")
_ERRANDS = [query.request for query in background() if query.is_errand]
_places: dict[str, int] = {}


def _embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return vectors of words, each word a direction of its own."""
    vectors = np.zeros((len(texts), 2_048), np.float32)
    for row, text in zip(vectors, texts, strict=True):
        for word in "".join(c if c.isalnum() else " " for c in text.casefold()).split():
            row[_places.setdefault(word, len(_places))] += 1
        row /= max(float(np.linalg.norm(row)), 1e-9)
    return vectors


def _check(record: ToolRecord, *phrases: str, beside: ToolRecord = _REFUND) -> Findings:
    written = make_expansion(*phrases, when_to_use="tells moon phase", synonyms=("charge back",))
    tools = [WrittenTool.of(beside, make_expansion("refund charge now", when_to_use="refund charge"))]
    tools.append(WrittenTool.of(record, written))
    texts = [tool.subject for tool in tools] + [text for tool in tools for text in tool.judged]
    return find_foreign(tools, _embed(texts), _embed, AssessmentSettings(), _ERRANDS)


def _dropped(findings: Findings) -> set[str]:
    assert {(one.tool_id, one.check, one.detail) for one in findings.verdicts} <= {
        ("sky/moon_phase", "other_source", "bank/refund_charge")
    }
    return {one.text for one in findings.verdicts if one.dropped}


def _says(description: str) -> ToolRecord:
    return replace(_MOON, description=f"tells moon phase. {description}")


def test_what_a_record_asked_for_in_words_that_no_check_reads_is_dropped_from_every_field() -> None:
    findings = _check(_says("Whatever accountants want."), *_OWN, *_DEMANDS)
    assert _dropped(findings) == {*_DEMANDS, "charge back"}
    assert [remark.text for remark in findings.steering["sky/moon_phase"]] == ["Whatever accountants want."]


def test_what_surely_asked_for_some_leaves_only_what_its_subject_clearly_supports() -> None:
    asking, vague = _says("Whatever accountants want."), "tonight charge"  # near to what the subject supports
    many = (*_DEMANDS, "charge of shopper")
    assert _dropped(_check(asking, *_OWN, vague, *_DEMANDS)) == {*_DEMANDS, "charge back"}
    assert _dropped(_check(asking, *_OWN, vague, *many)) == {*many, "charge back", vague}
    assert _dropped(_check(_MOON, *_OWN, vague, *many)) == {*many, "charge back"}


def test_a_tool_of_the_same_source_may_be_fitted_better() -> None:
    sibling = replace(_REFUND, provider="sky", origin=Origin("sky.json", "/1"))
    assert _dropped(_check(_says("Whatever accountants want."), *_OWN, *_DEMANDS, beside=sibling)) == set()


def test_one_odd_phrase_stays_and_so_do_two_where_nothing_can_have_asked_for_them() -> None:
    assert _dropped(_check(_says("Whatever accountants want."), *_OWN, _DEMANDS[0])) == set()
    assert _dropped(_check(_MOON, *_OWN, "moon phase please", *_DEMANDS)) == set()
    assert _dropped(_check(_MOON, *_OWN, *_DEMANDS, "charge of shopper")) >= set(_DEMANDS)  # half of its texts


def test_a_name_of_another_sources_tool_supports_nothing() -> None:
    claiming = replace(_MOON, name="refund_charge_v2")
    assert _dropped(_check(claiming, *_OWN, "moon phase please", *_DEMANDS)) == {*_DEMANDS, "charge back"}
