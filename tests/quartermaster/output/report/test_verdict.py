"""The verdict of a report is true of its figures."""

from typing import Any

import pytest

from quartermaster.output.report.verdict import percent, verdict

METRICS = {"recall@10": 0.96, "hit@1": 0.63, "full@10": 0.9}
INTERVALS = {"recall@10": [0.94, 0.99], "full@10": [0.5, 0.7]}
NO_TOOL = {"auc": 0.714, "auc_interval": [0.61, 0.81], "refused": 0.28, "refused_wrongly": 0.05}


def slice_of(queries: int, full: float | None) -> dict[str, Any]:
    return {"queries": queries, "full@10": full, "intervals": INTERVALS}


@pytest.fixture
def result() -> dict[str, Any]:
    return {
        "queries": 251,
        "signals": {"fused": METRICS},
        "intervals": {"fused": INTERVALS},
        "slices": {"tiny": slice_of(9, 0.1), "named": slice_of(80, 0.99), "vague": slice_of(23, 0.6)},
        "by": {"kind": {"single": slice_of(219, 0.9), "none": slice_of(32, None)}},
        "no_tool": NO_TOOL,
    }


def test_the_three_lines_say_what_is_found_where_least_and_what_is_refused(result: dict[str, Any]) -> None:
    found, weakest, refusals = (line.replace("\u00a0", " ") for line in verdict(result))
    assert found == (
        "Of 219 requests that a tool answers, 96 % find one among the first 10 (95 % interval 94–99 %), 63 % find it "
        "first. On average, 90 % of a request's steps find a tool there."
    )
    assert weakest.startswith("Weakest: slice 'vague', 23 requests: 60 % of their steps")
    assert "5 % of the answerable requests are refused" in refusals and "0.71 (95 % interval 0.61–0.81" in refusals


def test_what_was_not_judged_is_said_so(result: dict[str, Any]) -> None:
    none = {"recall@10": None, "hit@1": None, "full@10": None}
    bare = verdict({**result, "no_tool": None, "slices": {}, "by": {}, "signals": {"fused": none}})
    assert bare[0].startswith("No request that a tool answers was judged")
    assert bare[1].startswith("No slice has 10 judged requests")
    assert bare[2].endswith("no judged request is of kind none.")


def test_no_slice_is_weakest_where_all_are_as_good_as_the_whole(result: dict[str, Any]) -> None:
    assert "is weaker than the whole" in verdict({**result, "slices": {"named": slice_of(80, 0.99)}})[1]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.94, "94 %"),
        (1, "100 %"),
        (0.999, "99.9 %"),
        (0.9996, "over 99.9 %"),
        (0.0, "0 %"),
        (0.004, "0.4 %"),
        (0.0004, "under 0.1 %"),
    ],
)
def test_a_share_that_is_not_whole_is_not_called_all_or_nothing(share: float, text: str) -> None:
    assert percent(share) == text
