"""Measure how well rankings of tools answer queries with qrels.

`judgements` reads the queries, `metrics` scores rankings, `resampling` gives intervals and tests, `abstention` judges
the probability that some tool fits. `measurement` puts the queries to a router and writes TREC files; `summary` (by
`slices`), `comparison` and `causes` turn its results into JSON.
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
from quartermaster.evaluation.judgements import Judgement, judgements_of, read_judgements, with_needs
from quartermaster.evaluation.measurement import JudgedResult, Measurement, RankedList, ask, write_runs
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
    scores,
)
from quartermaster.evaluation.resampling import Difference, differences, intervals
from quartermaster.evaluation.summary import figures, unknown_tools, worst

__all__ = [
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
    "intervals",
    "judgements_of",
    "mean_rows",
    "read_judgements",
    "recipes_to_compare",
    "removable_signals",
    "scores",
    "unknown_tools",
    "with_needs",
    "worst",
    "write_runs",
]
