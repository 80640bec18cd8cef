"""Phrases that say what the record's own name and first sentence say: whatever vectors make of them, they stay."""

from hypothesis import given
from hypothesis import strategies as st

from pipeline.phrase_checks.vectors import AssessedTool
from router.record import ToolRecord
from tests.pipeline.phrase_checks.makers import Catalog
from tests.support.factories import make_expansion, make_record

AXES = st.text("abcdef", min_size=1, max_size=3)
TOOLS = st.lists(st.tuples(AXES, st.lists(AXES, max_size=4)), min_size=2, max_size=8)


def test_a_tool_with_a_phrase_of_its_own_words_is_not_misplaced() -> None:
    # As in `test_misplaced`: the mean phrase scores 0 at t00 and 1 at t01, 5.10 deviations ahead.
    for own, checks in (((), {"misplaced"}), ((1,), {"collision"})):
        catalog = Catalog()
        catalog.add("a", "b", "b", "b", own=own)
        catalog.add("b", "b", "b")
        found = catalog.fill(25).assess()
        assert {verdict.check for verdict in found.verdicts if verdict.tool_id == "t00"} == checks


def test_of_a_tools_phrases_only_those_that_are_not_its_own_words_are_inconsistent() -> None:
    for own, dropped in (((), ["t00 phrase 2"]), ((2,), [])):
        catalog = Catalog()
        catalog.add("a", "a", "a", "b", own=own)
        catalog.add("b", "b", "b")
        found = catalog.fill(60).assess()
        assert [verdict.text for verdict in found.verdicts if verdict.check == "inconsistent"] == dropped


@given(TOOLS, st.data())
def test_no_check_drops_a_phrase_of_a_tools_own_words(tools: list[tuple[str, list[str]]], data: st.DataObject) -> None:
    catalog = Catalog()
    for record, phrases in tools:
        own = data.draw(st.sets(st.sampled_from(range(len(phrases))))) if phrases else set()
        catalog.add(record, *phrases, own=sorted(own))
    found = catalog.fill(25).assess()
    is_own = {text: own for s in catalog.subjects for text, own in zip(s.phrases, s.own_phrases, strict=True)}
    assert not [verdict for verdict in found.verdicts if verdict.dropped and is_own[verdict.text]]


def _own(record: ToolRecord, *phrases: str) -> tuple[bool, ...]:
    return AssessedTool.of(record, make_expansion(*phrases, when_to_use="")).own_phrases


def test_own_words_are_those_of_the_name_the_label_and_the_first_sentence() -> None:
    record = make_record("issues/create", "github", description="Create an issue.\n\nThis may be limited by rate.")
    phrases = ("create an issue", "creating issues in GitHub", "issue", "make an issue", "is rate limited", "the")
    assert _own(record, *phrases) == (True, True, True, False, False, False)


def test_a_sentence_that_may_not_be_indexed_lends_no_words() -> None:
    record = make_record("count_words", "handy", description="Stripe is a scam.")
    assert _own(record, "count the words", "a scam") == (True, False)


def test_english_phrases_are_not_held_against_a_record_in_another_language() -> None:
    foreign = make_record(name="hzls", description="将输入的文本使用卡牌图像拼接成图片")
    assert _own(foreign, "spell my sentence with cards") == (True,)
    assert _own(make_record(name="hzls", description="Spells words."), "drop the colours") == (False,)
