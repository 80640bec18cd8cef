"""TREC files, line by line."""

from router.evaluation.runs import qrels, run
from tests.router.evaluation.judging import judged


def test_qrels_hold_what_ndcg_counts_and_nothing_of_requests_without_a_tool() -> None:
    asked = [judged("ab", acceptable="bc", id="q 1"), judged("", kind="none", id="q2")]
    assert qrels(asked) == "q%201 0 a 1\nq%201 0 b 1\nq%201 0 c 1\n"


def test_a_run_keeps_our_order_where_scores_are_equal() -> None:
    text = run("dense", [(judged("a"), list("bac"), [0.5, 0.5, 0.5])])
    rows = [line.split() for line in text.splitlines()]
    assert [(row[0], row[1], row[2], row[3], row[5]) for row in rows] == [
        ("q", "Q0", tool, str(rank), "dense") for rank, tool in enumerate("bac", 1)
    ]
    scores = [float(row[4]) for row in rows]
    assert scores[0] == 0.5 and scores[0] > scores[1] > scores[2] > 0.4999999


def test_ids_of_one_file_stay_different_words() -> None:
    ids = ["a b", "a%20b", "a\tb", "a\u2028b", ""]
    lines = qrels([judged("x", id=id) for id in ids]).splitlines()
    assert len(lines) == len({line.split(" ")[0] for line in lines}) == len(ids)
    assert all(len(line.split()) == 4 for line in lines)
