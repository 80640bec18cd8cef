"""Learn from the catalog itself, without labels, and from past requests.

`adapter/` trains the query adapter from the phrases' vectors, before the snapshot is written, or reuses it.
`no_answer_calibration/` fits the probability that some tool fits, on the written snapshot, by background queries and
held-out phrases, or reuses it. `usage/` learns the intent signal and weights from past requests. `implicit_needs` finds
the tools that meet implicit needs.
"""

from pipeline.learning.adapter.learned import (
    MOST_TRAINED,
    TUNING_VERSION,
    LearnedAdapter,
    phrase_keys,
    phrase_space,
    reuse_adapter,
    tune,
)
from pipeline.learning.implicit_needs import find_need_tools
from pipeline.learning.no_answer_calibration.background import background
from pipeline.learning.no_answer_calibration.fitting import (
    ReusedCalibration,
    SnapshotCalibration,
    calibrate,
    reuse_calibration,
    update_calibration,
)
from pipeline.learning.usage.click_feedback import learn_from_use
from pipeline.learning.usage.log import PastRequests, past_requests

__all__ = [
    "MOST_TRAINED",
    "TUNING_VERSION",
    "LearnedAdapter",
    "PastRequests",
    "ReusedCalibration",
    "SnapshotCalibration",
    "background",
    "calibrate",
    "find_need_tools",
    "learn_from_use",
    "past_requests",
    "phrase_keys",
    "phrase_space",
    "reuse_adapter",
    "reuse_calibration",
    "tune",
    "update_calibration",
]
