"""A soak tells what is wrong from what a killed worker explains, and what grows from what does not."""

from typing import Any

import pytest

from simulations.soak.judging import Judge, Kill, Verdict
from simulations.soak.publications import Publication

PUBLISHED = [Publication("first", 0, 100.0), Publication("second", 1, 200.0), Publication("third", 0, 300.0)]
DIGESTS = [["a0", "a1"], ["b0", "b1"]]  # by built snapshot and body
KILL = Kill(250.0, 7, frozenset({4001}))


def answered(name: str, digest: str, **fields: Any) -> dict[str, Any]:
    return {
        "at": 260.0, "seconds": 1.0, "port": 4000, "attempt": 1, "body": 0, "status": 200, "snapshots": [name],
        "digest": digest, **fields,
    }  # fmt: skip


def broken(**fields: Any) -> dict[str, Any]:
    return {"at": 250.1, "seconds": 0.5, "port": 4001, "attempt": 1, "body": 0, "error": "reset", **fields}


def judged(*rows: dict[str, Any]) -> Verdict:
    verdict = Verdict()
    Judge(DIGESTS, PUBLISHED, [KILL]).fast(rows, verdict)
    return verdict


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (answered("second", "a0"), "second does not answer body 0 as it does alone"),
        (answered("fourth", "a0"), "an answer names fourth, which was not published"),
        (answered("first", "a0", snapshots=["first", "second"]), "one answer names 2 snapshots"),
        (
            {"at": 1.0, "seconds": 0.1, "port": 1, "attempt": 1, "body": 0, "status": 503},
            "an answer has the status 503",
        ),
        (broken(port=4002), "a connection broke that no killed worker held: reset"),
        (broken(at=290.0), "a connection broke that no killed worker held: reset"),
        (broken(attempt=2), "asked twice and not answered: reset"),
    ],
)
def test_what_must_not_be_is_told_in_a_sentence(row: dict[str, Any], sentence: str) -> None:
    assert judged(row).wrong == [sentence]


def test_a_snapshot_answers_under_each_of_its_names_and_a_killed_worker_may_break_a_connection_once() -> None:
    verdict = judged(answered("first", "a0"), answered("second", "b1", body=1), answered("third", "a0"))
    assert (verdict.wrong, verdict.counts["answers"]) == ([], 3)
    verdict = judged(broken(), answered("second", "b0", attempt=2))
    assert verdict.wrong == []
    assert verdict.counts == {"connections broken by a kill": 1, "answers": 1, "answers to a second attempt": 1}


def test_a_connection_never_goes_back_to_an_older_snapshot_and_another_may() -> None:
    assert judged(answered("third", "a0"), answered("second", "b0", port=5)).wrong == []
    assert judged(answered("third", "a0"), answered("second", "b0")).wrong == [
        "second answered on a connection on which a newer snapshot had answered"
    ]


def test_slow_clients_get_their_answer_and_stalled_ones_are_not_held() -> None:
    verdict = Verdict()
    stalled = {"way": "stalls", "port": 1, "body": 0, "at": 100.0}
    late = {**stalled, "way": "drips", "status": 408}
    rows = [{**answered("first", "a0"), "way": "drips"}, {**answered("first", "b0"), "way": "sips"}]
    rows += [{**broken(), "way": "sips"}, {**stalled, "seconds": 10.2}, {**stalled, "seconds": 31.0}]
    rows += [{**late, "seconds": 12.0}, {**late, "seconds": 4.0}]
    Judge(DIGESTS, PUBLISHED, [KILL]).slow(rows, verdict)
    assert verdict.wrong == [
        "first does not answer body 0 as it does alone",
        "a stalled request was held for 31.0 s",
        "an answer has the status 408",  # the one that took 4 s
    ]
    assert verdict.counts["slow connections broken by a kill"] == 1
