"""Bringing tools for needs, against rankings worked by hand."""

from pathlib import Path

import numpy as np
import pytest

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


WRITE, TIME, USER = Need.WRITE_FILE, Need.CURRENT_TIME, Need.CURRENT_USER


@pytest.mark.parametrize(
    ("need", "tools", "expected"),
    [
        (WRITE, known(WRITE, 7, 10, 11), [10]),  # of a provider of the first five
        (WRITE, known(WRITE, 7, 8, 11), [7]),  # else the one that ranks best,
        (WRITE, known(WRITE, 12, 11), [11]),  # and then the surest
        (WRITE, known(WRITE, 4, 10), []),  # one of the first five meets the need
        (WRITE, known(WRITE, 5), [5]),
        (WRITE, NeedTools(), []),
        # The time is told for a date of the first three, the user by a provider of the first five.
        (TIME, known(TIME, 11, dated=(2,)), [11]),
        (TIME, known(TIME, 11, dated=(3,)), []),
        (USER, known(USER, 10), [10]),
        (USER, known(USER, 11), []),
        (USER, NeedTools({USER: (NeedTool(10, 6.0, None),)}), []),
    ],
)
def test_a_provider_of_the_first_five_is_preferred_then_the_rank_then_the_confidence(
    need: Need, tools: NeedTools, expected: list[int]
) -> None:
    shown = [ShownNeed((need,), "to a.txt")]
    assert [met.ordinal for met in choose_tools(shown, tools, TEN, PROVIDERS.__getitem__, None)] == expected


def test_nothing_is_brought_without_a_ranking_or_past_a_filter() -> None:
    shown, tools = [ShownNeed((WRITE,), "to a.txt")], known(WRITE, 10, 11)
    assert not choose_tools(shown, tools, EMPTY, PROVIDERS.__getitem__, None)
    (met,) = choose_tools(shown, tools, TEN, PROVIDERS.__getitem__, Admitted(np.arange(13) != 10))
    assert met.ordinal == 11


def test_a_brought_tool_takes_the_fifth_place_with_the_score_of_the_next() -> None:
    brought = bring_tools(TEN, None, [MetNeed(WRITE, "to a.txt", 7)], 2)
    assert brought.ranking.ordinals.tolist() == [0, 1, 2, 3, 7, 4, 5, 6, 8, 9]
    assert brought.ranking.scores.tolist() == [10, 9, 8, 7, 6, 6, 5, 4, 2, 1]
    assert brought.gains.tolist() == [0, 0, 0, 0, 6 - 3, 0, 0, 0, 0, 0]
    assert brought.steps.tolist() == [-1, -1, -1, -1, 2, -1, -1, -1, -1, -1]
    short = bring_tools(TEN.cut(2), None, [MetNeed(WRITE, "a", 30)], 0).ranking
    assert (short.ordinals.tolist(), short.scores.tolist()) == ([0, 1, 30], [10, 9, 0])
    covered = StepCoverage(TEN, np.arange(10.0), np.arange(10) % 2)  # gains and steps of covered steps stay
    brought = bring_tools(TEN, covered, [MetNeed(WRITE, "a", 30), MetNeed(Need.SEND_MAIL, "b", 9)], 2)
    assert brought.ranking.ordinals.tolist() == [0, 1, 2, 3, 30, 9, 4, 5, 6, 7, 8]
    assert brought.gains.tolist() == [0, 1, 2, 3, 6, 9 + 6 - 1, 4, 5, 6, 7, 8]
    assert brought.steps.tolist() == [0, 1, 0, 1, 2, 3, 0, 1, 0, 1, 0]


def test_what_is_saved_is_opened_again_and_a_need_of_a_newer_version_is_left_out(tmp_path: Path) -> None:
    needs = NeedTools({TIME: (NeedTool(3, 7.5, "x"), NeedTool(1, 6.0))}, frozenset({0, 2}))
    assert NeedTools().save(tmp_path) == () and needs.save(tmp_path) == (IMPLICIT_NEEDS,)
    assert NeedTools.open(tmp_path, 4) == needs
    newer = '{"tools": {"walk_dog": [{"ordinal": 1, "confidence": 1}]}, "requires_date": []}'
    (tmp_path / IMPLICIT_NEEDS).write_text(newer)
    assert NeedTools.open(tmp_path, 4) == NeedTools()
    for damaged in ("{", newer.replace("1,", "4,").replace("walk_dog", "write_file"), newer.replace("[]", "[-1]")):
        (tmp_path / IMPLICIT_NEEDS).write_text(damaged)
        with pytest.raises(SnapshotInvalid, match=IMPLICIT_NEEDS):
            NeedTools.open(tmp_path, 4)


def test_in_memory_words_and_arguments_tell_which_tools_meet_a_need() -> None:
    path, content, date = (Parameter(name, "string", required=True) for name in ("path", "content", "start_date"))
    records = [
        make_record("append", description="Save content to a file.", parameters=(path,)),
        make_record("write_file", "disk", description="Write text to a file at a path.", parameters=(path, content)),
        make_record("list_events", parameters=(date,)),
    ]
    assert NeedTools.in_words(records) == NeedTools({WRITE: (NeedTool(1, 1.0, "disk"),)})
    needs = NeedTools.in_words([*records, make_record("get_current_time", "clock", description="In a timezone.")])
    assert needs.tools[TIME] == (NeedTool(3, 1.0, "clock"),)
    assert needs.requires_date == {2}
