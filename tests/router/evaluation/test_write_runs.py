"""A measurement's files, read by another tool."""

from pathlib import Path

import ir_measures
import pytest
from ir_measures import RR, nDCG

from router import Router
from router.evaluation import Judgement, ask, figures, write_runs


def test_another_tool_finds_the_figures_of_every_list(router: Router, tmp_path: Path) -> None:
    tools = {
        "undo a payment": ["stripe/create_refund"],
        "what is open, and tell the team": ["linear/list_issues", "slack/chat_postMessage"],
        "a bug": ["github/create_issue", "linear/create_issue"],
    }
    judgements = [Judgement(r, r, frozenset(ids), frozenset(ids), "single") for r, ids in tools.items()]
    judgements.append(Judgement("none", "sing", frozenset(), frozenset(), "none"))
    measured = ask(router, judgements)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "dense.run").write_text("of an earlier measurement", encoding="utf-8")
    files = write_runs(tmp_path / "runs", measured)
    assert [file.name for file in files] == [
        "qrels.txt", "name.run", "description.run", "expansion.run", "dense.run", "fused.run"
    ]  # fmt: skip
    signals = figures(measured, "office")["signals"]
    for file in files[1:]:
        theirs = ir_measures.calc_aggregate(
            [nDCG @ 10, RR @ 10],
            ir_measures.read_trec_qrels(str(files[0])),  # type: ignore[no-untyped-call]
            ir_measures.read_trec_run(str(file)),  # type: ignore[no-untyped-call]
        )
        ours = signals[file.stem]
        assert (ours["ndcg@10"], ours["mrr@10"]) == pytest.approx((theirs[nDCG @ 10], theirs[RR @ 10]))


def test_a_list_that_is_lacking_leaves_no_file_of_an_earlier_one(router: Router, tmp_path: Path) -> None:
    (tmp_path / "dense.run").write_text("of an earlier measurement", encoding="utf-8")
    tool = frozenset({"stripe/create_refund"})
    write_runs(tmp_path, ask(router, [Judgement("1", "undo", tool, tool, "single")], "lexical"))
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "description.run", "expansion.run", "fused.run", "name.run", "qrels.txt"
    ]  # fmt: skip
