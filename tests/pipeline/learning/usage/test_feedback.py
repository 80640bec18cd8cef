"""What answers teach: by hand, from the ranks, the outcomes and the callers."""

import numpy as np
import pytest

from pipeline.feedback import Answer
from pipeline.learning.usage.feedback import (
    DOUBT,
    Evidence,
    Examination,
    FeedbackLessons,
    estimate_examination,
    feedback_lessons,
    relevances,
)
from router import Outcome

TOOLS = tuple("abcdefghij")
SUCCEEDED, FAILED, CALLED, REJECTED = Outcome.SUCCEEDED, Outcome.FAILED, Outcome.CALLED, Outcome.REJECTED


def answer(
    request: str | None, caller: str | None = None, tools: tuple[str, ...] = TOOLS, **outcomes: Outcome
) -> Answer:
    return Answer(0.0, request, caller, tools, outcomes, named=not tools)


def lessons(*answers: Answer) -> FeedbackLessons:
    return feedback_lessons(answers, TOOLS)


def evidence(*answers: Answer) -> dict[str, Evidence]:
    (request,) = lessons(*answers).requests
    return dict(request.evidence or {})


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([answer("refund", d=SUCCEEDED)] * 2, {"d": Evidence(2.0, 2 * 0.25)}),  # by its rank, the fourth
        ([answer("refund", a=SUCCEEDED), *[answer("refund")] * 2], {"a": Evidence(1.0, 3.0), "d": Evidence(0.0, 0.75)}),
        ([answer("refund", tools=("a", "b"), a=SUCCEEDED)], {"c": None}),  # it was not offered
        ([answer("refund", tools=(), d=SUCCEEDED)], {"d": Evidence(1.0, 1.0), "a": None}),  # named: without a rank
        (
            [answer("refund", a=FAILED, b=CALLED, d=REJECTED)],
            {"a": None, "b": Evidence(0.5, 0.5), "d": Evidence(0.0, 1.0)},
        ),
    ],
)
def test_a_success_counts_and_what_is_offered_and_not_called_is_taught_against_by_its_rank(
    answers: list[Answer], expected: dict[str, Evidence | None]
) -> None:
    found = evidence(*answers)
    assert {tool: found.get(tool) for tool in expected} == expected


def test_a_call_at_the_fourth_rank_teaches_more_than_one_at_the_first() -> None:
    assert lessons(answer("refund", a=SUCCEEDED)).requests[0].shares == {"a": 1 / (1 + DOUBT)}
    assert lessons(answer("refund", d=SUCCEEDED)).requests[0].shares == {"d": 1.0}  # 1 / (1 / 4 + DOUBT) is more
    assert lessons(answer("refund", a=SUCCEEDED), answer("refund")).requests[0].shares == {"a": 1 / (2 + DOUBT)}


def test_requests_with_qrels_without_text_or_of_tools_that_are_gone_teach_nothing() -> None:
    answers = [answer("Refund  it", a=SUCCEEDED), answer("pay", z=SUCCEEDED, tools=("z", "a")), answer(None, a=CALLED)]
    found = feedback_lessons(answers, TOOLS, queries=["refund it"])
    assert [(past.request, dict(past.shares)) for past in found.requests] == [("pay", {})]
    assert (found.answers, found.texts, found.judged, found.unknown) == (3, 2, 1, 1)


def test_requests_that_differ_in_case_and_spaces_are_one_and_the_newest_come_last() -> None:
    found = lessons(answer("refund"), answer("pay"), answer("Refund "))
    assert [past.request for past in found.requests] == ["pay", "Refund "]


def test_one_caller_counts_as_ten_answers_to_the_same_words_at_most() -> None:
    found = evidence(*[answer("refund", a=SUCCEEDED)] * 500)["a"]
    assert (found.successes, found.examined) == pytest.approx((10.0, 10.0))


def test_one_caller_weighs_no_more_for_a_tool_than_the_others_and_twenty() -> None:
    hostile = [answer(f"request {number}", "hostile", d=SUCCEEDED) for number in range(50)]
    honest = [answer("refund", "honest", d=SUCCEEDED)]
    found = lessons(*hostile, *honest)
    said = sum((past.evidence or {})["d"].successes for past in found.requests if past.request != "refund")
    assert said == pytest.approx(21.0)  # the one of the others, and twenty
    assert found.bounded == 3  # and its examinations of the tools at the first two ranks
    alone = lessons(*hostile)
    assert sum((past.evidence or {})["d"].successes for past in alone.requests) == 50 and alone.bounded == 0


def test_the_bias_is_found_from_tools_at_different_ranks_for_the_same_words() -> None:
    """A tool is looked at with probability 1 / rank, and stands at rank 1 and 4 as often."""
    random, reordered = np.random.default_rng(0), ("d", "b", "c", "a", *TOOLS[4:])
    answers = []
    for number in range(400):
        for tools in (TOOLS, reordered):
            called = random.random() < 1 / (tools.index("a") + 1)
            answers.append(answer(f"request {number}", tools=tools, **({"a": SUCCEEDED} if called else {})))
    found = estimate_examination(answers)
    assert 0.9 <= found.bias <= 1.1 and found.pairs == 400
    uniform = [
        answer(f"request {number}", tools=tools, a=SUCCEEDED) for number in range(400) for tools in (TOOLS, reordered)
    ]
    assert estimate_examination(uniform).bias <= 0.1
    assert Examination(1.0).at(4) == 0.25
    assert estimate_examination([answer("refund", a=SUCCEEDED)] * 3) == Examination(1.0, 0)  # at one rank: assumed


def test_a_wrong_lesson_is_unlearned_at_the_requests_near_to_it() -> None:
    """The cosine of the two near requests is .6, the threshold .2: each counts half for the other."""
    vectors = np.array([[1, 0], [0.6, 0.8], [0, -1]], np.float32)
    alone = {7: Evidence(1.0, 1.0)}
    for second, third, relevance in (
        ({}, {}, 1 / (1 + DOUBT)),
        ({7: Evidence(0.0, 8.0)}, {7: Evidence(0.0, 100.0)}, 1 / (1 + 4 + DOUBT)),
        ({7: Evidence(8.0, 8.0)}, {}, 5 / (5 + DOUBT)),
    ):
        assert relevances([alone, second, third], vectors, 0.2)[0] == {7: round(relevance, 4)}
    same = np.array([[1, 0], [1, 0]], np.float32)
    assert relevances([alone, {7: Evidence(0.0, 20.0)}], same, 0.2) == [{}, {}]  # contradicted enough to be no lesson
