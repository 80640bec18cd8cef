"""Measure how well rankings of tools answer judged requests.

`judgements` reads the requests, `metrics` scores rankings, `resampling` gives intervals and tests, `abstention` judges
the probability that some tool fits. `measurement` puts requests to a router; `summary` (by `slices`), `comparison`,
`ablation`, `misses` and `causes` turn its results into JSON, `runs` into TREC files. `slice_comparison` compares slice
by slice.
"""

from quartermaster.evaluation.causes import Cause, cause_changes, causes
from quartermaster.evaluation.comparison import (
    ablate,
    against,
    compared,
    comparison_row,
    comparison_rows,
    mean_rows,
    recipes_to_compare,
    removable_signals,
)
from quartermaster.evaluation.judgements import Judgement, judgements_of, read_judgements
from quartermaster.evaluation.measurement import FUSED, JudgedResult, Measurement, RankedList, ask
from quartermaster.evaluation.metrics import (
    HEADLINE_METRICS,
    METRICS,
    MRR,
    NDCG,
    SUCCESS_AT_1,
    FullRecall,
    K,
    Metric,
    MultiToolRecall,
    Success,
    evaluate,
    full_recall,
    hit,
    ndcg,
    recall,
    reciprocal_rank,
    scores,
)
from quartermaster.evaluation.misses import unknown_tools, worst
from quartermaster.evaluation.resampling import Difference, differences, intervals
from quartermaster.evaluation.runs import write_runs
from quartermaster.evaluation.summary import figures, measure

__all__ = [
    "FUSED",
    "HEADLINE_METRICS",
    "METRICS",
    "MRR",
    "NDCG",
    "SUCCESS_AT_1",
    "Cause",
    "Difference",
    "FullRecall",
    "JudgedResult",
    "Judgement",
    "K",
    "Measurement",
    "Metric",
    "MultiToolRecall",
    "RankedList",
    "Success",
    "ablate",
    "against",
    "ask",
    "cause_changes",
    "causes",
    "compared",
    "comparison_row",
    "comparison_rows",
    "differences",
    "evaluate",
    "figures",
    "full_recall",
    "hit",
    "intervals",
    "judgements_of",
    "mean_rows",
    "measure",
    "ndcg",
    "read_judgements",
    "recall",
    "recipes_to_compare",
    "reciprocal_rank",
    "removable_signals",
    "scores",
    "unknown_tools",
    "worst",
    "write_runs",
]
