"""Bringing tools for needs, against rankings worked by hand."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.contract import IMPLICIT_NEEDS
from router.errors import SnapshotInvalid
from router.query.implicit_needs import ShownNeed
from router.record import Parameter
from router.retrieval.implicit_needs import ImplicitNeedTool as NeedTool
from router.retrieval.implicit_needs import ImplicitNeedTools as NeedTools
from router.retrieval.implicit_needs import MetNeed, bring_tools, choose_tools
from router.retrieval.retrievers import EMPTY, Admitted, Ranking
from router.retrieval.step_fusion import StepCoverage
from router.tools.implicit_needs import ImplicitNeed as Need
from tests.support.factories import make_record

TEN = Ranking(np.arange(10), np.arange(10.0, 0.0, -1.0))
PROVIDERS = ["a", "a", "b", None, "b", "c", "c", "c", "c", "c", "b", "d", "d"]


def known(need: Need, *tools: int, dated: tuple[int, ...] = ()) -> NeedTools:
    """Tools that meet a need, the lower ordinals the surer."""
    return NeedTools({need: tuple(NeedTool(t, 9.0 - t / 10, PROVIDERS[t]) for t in tools)}, frozenset(dated))


def chosen(need: Need, tools: NeedTools, ranking: Ranking = TEN, admitted: Admitted | None = None) -> list[int]:
    shown = ShownNeed((need,), "to a.txt")
    return [met.ordinal for met in choose_tools([shown], tools, ranking, PROVIDERS.__getitem__, admitted)]


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ((7, 10, 11), [10]),  # of a provider of the first five
        ((7, 8, 11), [7]),  # else the one that ranks best,
        ((12, 11), [11]),  # and then the surest
        ((4, 10), []),  # one of the first five meets the need
        ((5,), [5]),
    ],
)
def test_a_provider_of_the_first_five_is_preferred_then_the_rank_then_the_confidence(
    tools: tuple[int, ...], expected: list[int]
) -> None:
    assert chosen(Need.WRITE_FILE, known(Need.WRITE_FILE, *tools)) == expected


def test_nothing_is_brought_without_a_tool_or_a_ranking_or_past_a_filter() -> None:
    assert chosen(Need.WRITE_FILE, NeedTools()) == []
    assert chosen(Need.WRITE_FILE, known(Need.WRITE_FILE, 10), EMPTY) == []
    mask = np.ones(13, np.bool_)
    mask[10] = False
    assert chosen(Need.WRITE_FILE, known(Need.WRITE_FILE, 10, 11), admitted=Admitted(mask)) == [11]


def test_the_time_is_told_for_a_date_of_the_first_three_and_the_user_by_a_provider_of_the_first_five() -> None:
    assert chosen(Need.CURRENT_TIME, known(Need.CURRENT_TIME, 11, dated=(2,))) == [11]
    assert chosen(Need.CURRENT_TIME, known(Need.CURRENT_TIME, 11, dated=(3,))) == []
    assert chosen(Need.CURRENT_USER, known(Need.CURRENT_USER, 10)) == [10]
    assert chosen(Need.CURRENT_USER, known(Need.CURRENT_USER, 11)) == []
    assert chosen(Need.CURRENT_USER, NeedTools({Need.CURRENT_USER: (NeedTool(10, 6.0, None),)})) == []


def test_a_brought_tool_takes_the_fifth_place_with_the_score_of_the_next() -> None:
    brought = bring_tools(TEN, None, [MetNeed(Need.WRITE_FILE, "to a.txt", 7)], 2)
    assert brought.ranking.ordinals.tolist() == [0, 1, 2, 3, 7, 4, 5, 6, 8, 9]
    assert brought.ranking.scores.tolist() == [10, 9, 8, 7, 6, 6, 5, 4, 2, 1]
    assert brought.gains.tolist() == [0, 0, 0, 0, 6 - 3, 0, 0, 0, 0, 0]
    assert brought.steps.tolist() == [-1, -1, -1, -1, 2, -1, -1, -1, -1, -1]
    short = bring_tools(TEN.cut(2), None, [MetNeed(Need.WRITE_FILE, "a", 30)], 0).ranking
    assert (short.ordinals.tolist(), short.scores.tolist()) == ([0, 1, 30], [10, 9, 0])


def test_gains_and_steps_of_covered_steps_stay() -> None:
    covered = StepCoverage(TEN, np.arange(10.0), np.arange(10) % 2)
    brought = bring_tools(TEN, covered, [MetNeed(Need.WRITE_FILE, "a", 30), MetNeed(Need.SEND_MAIL, "b", 9)], 2)
    assert brought.ranking.ordinals.tolist() == [0, 1, 2, 3, 30, 9, 4, 5, 6, 7, 8]
    assert brought.gains.tolist() == [0, 1, 2, 3, 6, 9 + 6 - 1, 4, 5, 6, 7, 8]
    assert brought.steps.tolist() == [0, 1, 0, 1, 2, 3, 0, 1, 0, 1, 0]


@given(
    st.lists(st.floats(-5, 20), min_size=1, max_size=30),
    st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True),
)
def test_no_other_tool_changes_its_score_or_its_order(scores: list[float], tools: list[int]) -> None:
    ranking = Ranking.of(np.arange(len(scores)), np.array(scores))
    tools = [tool for tool in tools if tool not in ranking.ordinals[:5]]
    if not tools:
        return
    brought = bring_tools(ranking, None, [MetNeed(Need.WRITE_FILE, "a", tool) for tool in tools], 0).ranking
    others = [ordinal for ordinal in ranking.ordinals.tolist() if ordinal not in tools]
    assert [ordinal for ordinal in brought.ordinals.tolist() if ordinal not in tools] == others
    assert set(brought.ordinals.tolist()) == {*others, *tools}
    assert np.all(np.diff(brought.scores) <= 0)


def test_what_is_saved_is_opened_again_and_a_need_of_a_newer_version_is_left_out(tmp_path: Path) -> None:
    needs = NeedTools({Need.CURRENT_TIME: (NeedTool(3, 7.5, "x"), NeedTool(1, 6.0))}, frozenset({0, 2}))
    assert NeedTools().save(tmp_path) == () and needs.save(tmp_path) == (IMPLICIT_NEEDS,)
    assert NeedTools.open(tmp_path, 4) == needs
    newer = '{"tools": {"walk_dog": [{"ordinal": 1, "confidence": 1}]}, "requires_date": []}'
    (tmp_path / IMPLICIT_NEEDS).write_text(newer)
    assert NeedTools.open(tmp_path, 4) == NeedTools()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"tools": {"write_file": [{"ordinal": 4, "confidence": 1.0}]}, "requires_date": []}',
        '{"tools": {}, "requires_date": [-1]}',
        '{"tools": {"write_file": [{"ordinal": "0", "confidence": 1.0}]}, "requires_date": []}',
    ],
)
def test_a_damaged_file_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / IMPLICIT_NEEDS).write_text(content)
    with pytest.raises(SnapshotInvalid, match=IMPLICIT_NEEDS):
        NeedTools.open(tmp_path, 4)


def test_in_memory_words_and_arguments_tell_which_tools_meet_a_need() -> None:
    path, content, date = (Parameter(name, "string", required=True) for name in ("path", "content", "start_date"))
    records = [
        make_record("append", description="Save content to a file.", parameters=(path,)),
        make_record("write_file", "disk", description="Write text to a file at a path.", parameters=(path, content)),
        make_record("list_events", parameters=(date,)),
    ]
    assert NeedTools.in_words(records) == NeedTools({Need.WRITE_FILE: (NeedTool(1, 1.0, "disk"),)})
    needs = NeedTools.in_words([*records, make_record("get_current_time", "clock", description="In a timezone.")])
    assert needs.tools[Need.CURRENT_TIME] == (NeedTool(3, 1.0, "clock"),)
    assert needs.requires_date == {2}
