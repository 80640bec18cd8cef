"""The metrics and the files, held against ir-measures over pytrec_eval."""

import io

import ir_measures
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, R, Success, nDCG

from router.evaluation import Judgement, evaluate
from router.evaluation.runs import qrels, run

THEIRS = {"ndcg@10": nDCG @ 10, "mrr@10": RR @ 10, "recall@10": Success @ 10, "hit@1": Success @ 1, "full@10": R @ 10}
# Ids as a file may hold them: with spaces, percent signs, other scripts.
TOOLS = st.sampled_from([f"{provider}/tool {n}" for provider in ("a%b", "顧客", "c") for n in range(8)])


@st.composite
def answered(draw: st.DrawFn) -> tuple[Judgement, list[str], list[float]]:
    tools = draw(st.frozensets(TOOLS, min_size=1, max_size=12))
    ranking = draw(st.lists(TOOLS, unique=True, max_size=20))
    # Few different scores, so that many are equal: ties are where tools differ.
    scores = sorted(draw(st.lists(st.sampled_from([0.5, 0.25, 0.0, 1 / 3]), min_size=20, max_size=20)), reverse=True)
    return Judgement("", "request", tools, tools, "single"), ranking, scores[: len(ranking)]


@settings(deadline=None)
@given(st.lists(answered(), min_size=1, max_size=5))
def test_another_tool_finds_the_same_figures_in_our_files(rows: list[tuple[Judgement, list[str], list[float]]]) -> None:
    named = [
        (Judgement(f"request {i}", j.request, j.required, j.acceptable, j.kind), ranking, scores)
        for i, (j, ranking, scores) in enumerate(rows)
    ]
    ours = evaluate((ranking, judgement) for judgement, ranking, _ in named)
    required = io.StringIO(qrels(judgement for judgement, _, _ in named))
    judged = list(ir_measures.read_trec_qrels(required))  # type: ignore[no-untyped-call]
    ran = list(ir_measures.read_trec_run(io.StringIO(run("fused", named))))  # type: ignore[no-untyped-call]
    theirs = ir_measures.calc_aggregate(THEIRS.values(), judged, ran)
    for name, measure in THEIRS.items():
        value = ours[name]
        assert value is not None and abs(value - theirs[measure]) < 1e-6, name
