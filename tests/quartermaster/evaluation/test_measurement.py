"""TREC files, line by line, and the metrics held against ir-measures over pytrec_eval, which reads them."""

import io
from pathlib import Path

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, R, Success, nDCG

from quartermaster.evaluation import Judgement, ask, evaluate, figures, write_runs
from quartermaster.evaluation.measurement import qrels, run
from router import Router
from tests.quartermaster.evaluation.judging import judged

THEIRS = {"ndcg@10": nDCG @ 10, "mrr@10": RR @ 10, "recall@10": Success @ 10, "hit@1": Success @ 1, "full@10": R @ 10}
# Ids as a file may hold them: with spaces, percent signs, other scripts.
TOOLS = st.sampled_from([f"{provider}/tool {n}" for provider in ("a%b", "顧客", "c") for n in range(8)])


def test_qrels_hold_what_ndcg_counts_and_ids_of_one_file_stay_different_words() -> None:
    asked = [judged("ab", acceptable="bc", id="q 1"), judged("", kind="none", id="q2")]
    assert qrels(asked) == "q%201 0 a 1\nq%201 0 b 1\nq%201 0 c 1\n"
    lines = qrels([judged("x", id=id) for id in ("a b", "a%20b", "a\tb", "a\u2028b", "")]).splitlines()
    assert len(lines) == len({line.split(" ")[0] for line in lines}) == 5
    assert all(len(line.split()) == 4 for line in lines)


def test_a_run_keeps_our_order_where_scores_are_equal() -> None:
    rows = [line.split() for line in run("dense", [(judged("a"), list("bac"), [0.5, 0.5, 0.5])]).splitlines()]
    assert [row[:4] + row[5:] for row in rows] == [["q", "Q0", t, str(r), "dense"] for r, t in enumerate("bac", 1)]
    scores = [float(row[4]) for row in rows]
    assert 0.5 == scores[0] > scores[1] > scores[2] > 0.4999999


@st.composite
def answered(draw: st.DrawFn) -> tuple[frozenset[str], list[str], list[float]]:
    """The right tools of a request, a ranking, and scores so few that many are equal: ties are where tools differ."""
    ranking = draw(st.lists(TOOLS, unique=True, max_size=20))
    scores = sorted(draw(st.lists(st.sampled_from([0.5, 0.25, 0.0, 1 / 3]), min_size=20, max_size=20)), reverse=True)
    return draw(st.frozensets(TOOLS, min_size=1, max_size=12)), ranking, scores[: len(ranking)]


@given(st.lists(answered(), min_size=1, max_size=5))
def test_another_tool_finds_the_same_figures_in_our_files(
    drawn: list[tuple[frozenset[str], list[str], list[float]]],
) -> None:
    rows = [
        (Judgement(f"request {i}", "request", tools, tools, "single"), ranking, scores)
        for i, (tools, ranking, scores) in enumerate(drawn)
    ]
    ours = evaluate((ranking, judgement) for judgement, ranking, _ in rows)
    required = io.StringIO(qrels(judgement for judgement, _, _ in rows))
    read = list(ir_measures.read_trec_qrels(required))  # type: ignore[no-untyped-call]
    ran = list(ir_measures.read_trec_run(io.StringIO(run("fused", rows))))  # type: ignore[no-untyped-call]
    theirs = ir_measures.calc_aggregate(THEIRS.values(), read, ran)
    for name, measure in THEIRS.items():
        assert ours[name] == pytest.approx(theirs[measure], abs=1e-6), name


def test_every_list_has_its_file_with_the_figures_of_the_measurement_and_a_lacking_one_has_none(
    router: Router, tmp_path: Path
) -> None:
    tools = frozenset({"linear/list_issues", "slack/chat_postMessage"})
    judgements = [Judgement("1", "what is open, and tell the team", tools, tools, "single")]
    measured = ask(router, judgements)
    files = write_runs(tmp_path, measured)
    names = ["qrels.txt", "name.run", "description.run", "expansion.run", "dense.run", "fused.run"]
    assert [file.name for file in files] == names
    for file in files[1:]:
        theirs = ir_measures.calc_aggregate(
            [nDCG @ 10],
            ir_measures.read_trec_qrels(str(files[0])),  # type: ignore[no-untyped-call]
            ir_measures.read_trec_run(str(file)),  # type: ignore[no-untyped-call]
        )
        assert figures(measured, "office")["signals"][file.stem]["ndcg@10"] == pytest.approx(theirs[nDCG @ 10])
    write_runs(tmp_path, ask(router, judgements, "lexical"))
    assert {file.name for file in tmp_path.iterdir()} == {*names} - {"dense.run"}
