"""A phrase that speaks of another tool is dropped; one that a sibling could have said is noted."""

import pytest

from pipeline.enrichment.context import Consequence, TextVerdict
from pipeline.settings import AssessmentSettings
from tests.pipeline.phrase_checks.makers import ANY_SHARE, Catalog


def stray(tools: int, *others: str) -> Catalog:
    """t00 at a says a, a, a and b; t01 is at b; `others` are tools at an axis, with one phrase there."""
    catalog = Catalog()
    catalog.add("a", "a", "a", "a", "b")
    catalog.add("b")
    for axis in others:
        catalog.add(axis, axis)
    return catalog.fill(tools)


def test_a_phrase_that_fits_another_tool_and_not_its_own_is_dropped() -> None:
    # Scores of the phrase b: 0 at t00, 1 at t01, 0 elsewhere. t01 is ahead by 1 / (sqrt(24) / 25) = 5.10 deviations.
    found = stray(25).assess()
    assert found.verdicts == (
        TextVerdict("t00", "user_phrases", "t00 phrase 3", "inconsistent", Consequence.DROPPED, "t01"),
    )
    assert found.siblings == {}


@pytest.mark.parametrize(
    ("tools", "settings", "dropped"),
    [
        (23, {}, 0),  # the lead is in standard deviations of the catalog: 23 / sqrt(22) = 4.90
        (23, {"inconsistent_lead": 4.85}, 1),
        (25, {"inconsistent_fit": -0.19}, 1),  # -.04 / .196: it is .20 deviations below the mean tool
        (25, {"inconsistent_fit": -0.21}, 0),
    ],
)
def test_lead_and_fit_are_those_of_the_settings(tools: int, settings: dict[str, float], dropped: int) -> None:
    assert len(stray(tools).assess(AssessmentSettings(max_share=1, **settings)).verdicts) == dropped


def test_the_sentence_of_when_to_use_is_judged_as_a_phrase_of_its_own_field() -> None:
    catalog = Catalog()
    catalog.add("a", "a", "a", "a", when="b")
    catalog.add("b")
    (verdict,) = catalog.fill(25).assess().verdicts
    assert (verdict.field, verdict.text) == ("when_to_use", "t00 sentence")


def test_a_tool_loses_at_most_half_of_its_phrases_to_the_check_of_single_ones() -> None:
    catalog = Catalog()
    catalog.add("a", "a", "b", "c", "d")
    for axis in "bcd":
        catalog.add(axis)
    # b, c and d all lead by 30 / sqrt(29) = 5.57, and the first two go.
    dropped = [(v.text, v.detail) for v in catalog.fill(30).assess().verdicts]
    assert dropped == [("t00 phrase 1", "t01"), ("t00 phrase 2", "t02")]


def test_where_more_than_the_share_of_phrases_would_go_they_are_only_noted() -> None:
    quarter, fifth = stray(25), stray(25, "c")
    assert [v.consequence for v in quarter.assess(AssessmentSettings()).verdicts] == [Consequence.NOTED]
    assert [v.consequence for v in fifth.assess(AssessmentSettings()).verdicts] == [Consequence.DROPPED]


def shared(own: int) -> Catalog:
    """t00 at a has phrases at a, and two at b, where t01 is."""
    catalog = Catalog()
    catalog.add("a", *["a"] * own, "b", "b")
    catalog.add("b")
    return catalog.fill(25)


def test_a_tool_that_enough_of_the_phrases_fit_better_is_a_sibling_and_they_are_noted() -> None:
    # Two of eight. Their own tool has (0 + 1 / 7) / 2, so t01 leads by 4.74: no reason to drop them.
    found = shared(6).assess(AssessmentSettings(sibling_share=0.25))
    assert found.siblings == {"t00": ("t01",)}
    assert found.verdicts == tuple(
        TextVerdict("t00", "user_phrases", f"t00 phrase {n}", "collision", Consequence.NOTED, "t01") for n in (6, 7)
    )


def test_fewer_phrases_than_the_share_or_a_single_one_make_no_sibling() -> None:
    assert shared(4).assess().siblings == {}  # two of six; three in eight are asked for
    assert shared(7).assess(AssessmentSettings(max_share=1, sibling_share=0.2)).siblings == {"t00": ("t01",)}
    single = Catalog()
    single.add("a", "ab", "ac")
    single.add("b")
    single.add("c")
    assert single.fill(25).assess().siblings == {}


def test_siblings_are_three_by_phrases_then_by_how_well_they_fit() -> None:
    catalog = Catalog()
    catalog.add("a", "b", "b", "c", "c", "d", "d", "e", "e", "e")
    for record in ("b", "cy", "d", "e"):
        catalog.add(record)
    found = catalog.fill(25).assess(AssessmentSettings(misplaced_lead=9, sibling_share=0.2, max_share=1))
    # t04 shares three phrases; t01, t02 and t03 two each, but the two of t02 fit at .71, the others at 1.
    assert found.siblings == {"t00": ("t04", "t01", "t03")}
    assert [v.detail for v in found.verdicts] == ["t01", "t01", "t03", "t03", "t04", "t04", "t04"]


def test_phrases_of_a_sibling_count_as_much_as_its_record() -> None:
    catalog = Catalog()
    catalog.add("a", "ab", "ab")
    catalog.add("c", "ab", "ab")
    # t00's phrases: (.71 + 1) / 2 at their own tool, (0 + 1) / 2 at t01. t01's: (0 + 1) / 2, and .85 at t00.
    assert catalog.fill(25).assess().siblings == {"t01": ("t00",)}


def test_the_same_tool_of_two_servers_is_no_sibling_of_itself() -> None:
    forks, others = Catalog(), Catalog()
    for server in "xy":
        forks.add("a", "ab", "ab", "ab", content="create_issue")
        others.add("a", "ab", "ab", "ab", content=f"create_issue {server}")
    assert forks.fill(25).assess().verdicts == ()
    assert forks.assess().siblings == {}
    assert others.fill(25).assess().siblings == {"t00": ("t01",), "t01": ("t00",)}
    assert {v.consequence for v in others.assess().verdicts} == {Consequence.NOTED}


@pytest.mark.parametrize("content", ["one", None])
def test_a_catalog_in_which_all_is_alike_keeps_every_phrase(content: str | None) -> None:
    catalog = Catalog()
    for _ in range(25):
        catalog.add("a", "a", "a", "a", when="a", content=content)
    found = catalog.assess(ANY_SHARE)
    assert not any(v.dropped for v in found.verdicts)
    assert {len(near) for near in found.siblings.values()} == (set() if content else {3})
