"""Reports count for the answers that they belong to, and a summary counts them."""

from dataclasses import asdict
from pathlib import Path

from pipeline.feedback import StoredEvents, join_answers, read_events, summarize
from router import FeedbackLog, Outcome
from router.feedback import Offered, Reported


def joined(*reports: tuple[str, str, str | None]) -> list[dict[str, Outcome]]:
    """The outcomes of two answers to different callers, after reports of (answer, tool, caller)."""
    offered = (Offered(1.0, "x", "s", ("a", "b"), ("c",), "night"), Offered(2.0, "y", "s", ("a",), (), "day"))
    reported = tuple(Reported(3.0, answer, tool, Outcome.SUCCEEDED, caller) for answer, tool, caller in reports)
    answers = join_answers(StoredEvents((*offered, *reported)))
    assert answers.untied == len(reports) - sum(len(answer.outcomes) for answer in answers.answers)
    return [dict(answer.outcomes) for answer in answers.answers]


def test_a_report_belongs_to_the_answer_that_offered_the_tool_to_its_caller() -> None:
    assert joined(("x", "b", "night"), ("x", "c", "night")) == [{"b": Outcome.SUCCEEDED, "c": Outcome.SUCCEEDED}, {}]


def test_nobody_reports_on_the_answers_of_others_on_tools_not_offered_or_on_no_answer() -> None:
    assert joined(("x", "b", "day"), ("x", "z", "night"), ("z", "a", "night"), ("y", "a", None)) == [{}, {}]


def test_a_tool_is_named_for_a_request_and_not_for_an_answer_that_offered_none() -> None:
    report = (Reported(1.0, "x", "a", Outcome.SUCCEEDED),)
    for named in (True, False):
        found = join_answers(StoredEvents((Offered(0.0, "x", "s", request="r", named=named), *report)))
        assert (found.untied, dict(found.answers[0].outcomes)) == ((0, {"a": Outcome.SUCCEEDED}) if named else (1, {}))


def test_the_last_report_on_a_tool_counts() -> None:
    reports = tuple(
        Reported(float(at), "x", "a", outcome) for at, outcome in ((1, Outcome.CALLED), (2, Outcome.FAILED))
    )
    (answer,) = join_answers(StoredEvents((Offered(0.0, "x", "s", ("a",)), *reports))).answers
    assert answer.outcomes == {"a": Outcome.FAILED}


def test_a_summary_counts_by_rank_by_outcome_and_by_tool(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path)
    first, second = (log.offered("s1", ["a", "b", "z"], caller=caller) for caller in ("night", "day"))
    log.report(first, "b", "failed", caller="night")
    log.report(second, "a", "succeeded", caller="day")
    log.report("0" * 32, "a", "succeeded")
    log.close()
    events = read_events(tmp_path)
    found = asdict(summarize(events, join_answers(events)))
    assert [tuple(row.values()) for row in found["ranks"]] == [(1, 2, 1), (2, 2, 1), (3, 2, 0)]
    assert found["outcomes"] == {"called": 0, "succeeded": 1, "failed": 1, "rejected": 0}
    assert (found["answers"], found["callers"], found["texts"], found["untied"]) == (2, 2, 0, 1)
    assert found["never_called"] == {"z": 2}
