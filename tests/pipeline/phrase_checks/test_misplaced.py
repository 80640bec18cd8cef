"""Phrases that together speak of another tool than the record."""

import pytest

from pipeline.enrichment.context import Consequence, TextVerdict
from pipeline.settings import AssessmentSettings
from tests.pipeline.phrase_checks.makers import ANY_SHARE, Catalog


def swapped(tools: int, *phrases: str) -> Catalog:
    """t00 at a has phrases at b, where t01 is."""
    catalog = Catalog()
    catalog.add("a", *(phrases or "bbb"))
    catalog.add("b", "b", "b")
    return catalog.fill(tools)


def test_phrases_that_together_fit_another_record_are_dropped_and_the_tool_is_to_be_told_from_it() -> None:
    # The mean phrase scores 0 at t00, 1 at t01, 0 elsewhere: 25 / sqrt(24) = 5.10 deviations.
    found = swapped(25).assess()
    assert found.verdicts == tuple(
        TextVerdict("t00", "user_phrases", f"t00 phrase {n}", "misplaced", Consequence.DROPPED, "t01") for n in range(3)
    )
    # t01 is no sibling's: the phrases of t00 no longer speak for it.
    assert found.siblings == {"t00": ("t01",)}


def test_phrases_that_fit_their_own_record_well_are_kept_however_well_they_fit_another() -> None:
    catalog = Catalog()
    catalog.add("aaac", "ab", "ab", "ab")
    catalog.add("ab")
    catalog.fill(100)
    # 3 / sqrt(20) = .671 at t00 and 1 at t01, 0 at 98 others: mean .0167, deviation .119, fit 5.49, lead 2.76.
    strict = AssessmentSettings(misplaced_lead=2.7, max_share=1)
    assert not any(v.check == "misplaced" for v in catalog.assess(strict).verdicts)
    freed = strict.model_copy(update={"misplaced_fit": 5.5})
    assert {v.check for v in catalog.assess(freed).verdicts} == {"misplaced"}


def test_two_phrases_are_too_few_and_phrases_that_are_partly_another_tools_are_not_misplaced() -> None:
    # (0 + 1) / 2 at t00 and 1 at t01: a collision.
    assert {(v.check, v.dropped) for v in swapped(25, "b", "b").assess().verdicts} == {("collision", False)}
    # The mean of a, b, b, b: .75 at t01 is ahead of .25 at t00 by .5 / .153 = 3.27 deviations; of a, a, b, b, b by 1.
    mixed = swapped(25, "a", "b", "b", "b"), swapped(25, "a", "a", "b", "b", "b")
    assert [any(v.check == "misplaced" for v in catalog.assess().verdicts) for catalog in mixed] == [True, False]


@pytest.mark.parametrize(
    ("tools", "right", "settings", "consequence"),
    [
        (19, "", ANY_SHARE, Consequence.NOTED),
        (20, "", ANY_SHARE, Consequence.DROPPED),
        (25, "cd", AssessmentSettings(), Consequence.NOTED),  # a quarter of the tools with phrases
        (25, "cde", AssessmentSettings(), Consequence.DROPPED),
    ],
)
def test_in_a_small_catalog_or_past_the_share_of_misplaced_tools_they_are_only_noted(
    tools: int, right: str, settings: AssessmentSettings, consequence: Consequence
) -> None:
    catalog = swapped(2)
    for axis in right:
        catalog.add(axis, axis)
    assert {v.consequence for v in catalog.fill(tools).assess(settings).verdicts} == {consequence}


def test_a_fork_of_the_tool_that_phrases_speak_of_changes_nothing() -> None:
    catalog = Catalog()
    catalog.add("a", "b", "b", "b")
    for _ in range(2):
        catalog.add("b", "b", "b", content="fork")
    # 1 at two tools of 25: mean .08, deviation .271, lead 3.69. The first of the two is named.
    found = catalog.fill(25).assess(ANY_SHARE)
    assert {(v.tool_id, v.check, v.detail) for v in found.verdicts} == {("t00", "misplaced", "t01")}
    assert found.siblings == {"t00": ("t01",)}


@pytest.mark.parametrize(
    ("own", "other", "lead", "misplaced"),
    [
        ("b", "y", 2.5, False),  # a careless description: the phrases fit the name as no other
        ("a", "b", 2.5, True),  # another tool's answer: they fit neither
        ("y", "y", 2.5, True),  # the names say nothing: half of 5.10
        ("y", "y", 2.6, False),
    ],
)
def test_phrases_are_misplaced_only_where_name_and_parameters_speak_for_the_other_tool_too(
    own: str, other: str, lead: float, misplaced: bool
) -> None:
    catalog = Catalog()
    catalog.add("a", "b", "b", "b", interface=own)
    catalog.add("b", "b", "b", interface=other)
    found = catalog.fill(25).assess(AssessmentSettings(max_share=1, misplaced_lead=lead))
    assert any(verdict.check == "misplaced" for verdict in found.verdicts) == misplaced
