"""Learn from the catalog itself, without labels, and from past requests.

`encoder/` fine-tunes the encoder, and `adapter/` trains the query adapter from the phrases' vectors, before the
snapshot is written (`tuning`). `calibration/` fits the probability that some tool fits, on the written snapshot, by
background queries and held-out phrases. `usage/` learns the intent signal and weights from past requests. The `reuse`
modules carry results on to the next snapshot. `implicit_needs` finds the tools that meet implicit needs.
"""

from pipeline.learning.adapter.phrase_space import PhraseSpace
from pipeline.learning.adapter.reuse import ReusedAdapter, phrase_keys, reuse_adapter
from pipeline.learning.encoder.adoption import fine_tune
from pipeline.learning.encoder.catalog_pairs import CatalogPairs, catalog_pairs
from pipeline.learning.encoder.plan import TrainingPlan
from pipeline.learning.encoder.reuse import (
    ReusedEncoder,
    find_tuned,
    is_tuned,
    reuse_encoder,
    serving_encoder,
    tuned_folder,
    tuned_key,
)
from pipeline.learning.implicit_needs import find_need_tools
from pipeline.learning.no_answer_calibration.background import background
from pipeline.learning.no_answer_calibration.fitting import SnapshotCalibration, calibrate
from pipeline.learning.no_answer_calibration.reuse import ReusedCalibration, reuse_calibration, update_calibration
from pipeline.learning.tuning import (
    MOST_TRAINED,
    TUNING_VERSION,
    LearnedEncoder,
    Tuning,
    phrase_space,
    reused_tuning,
    tune,
)
from pipeline.learning.usage.click_feedback import learn_from_use
from pipeline.learning.usage.past_requests import PastRequests, past_requests

__all__ = [
    "MOST_TRAINED",
    "TUNING_VERSION",
    "CatalogPairs",
    "LearnedEncoder",
    "PastRequests",
    "PhraseSpace",
    "ReusedAdapter",
    "ReusedCalibration",
    "ReusedEncoder",
    "SnapshotCalibration",
    "TrainingPlan",
    "Tuning",
    "background",
    "calibrate",
    "catalog_pairs",
    "find_need_tools",
    "find_tuned",
    "fine_tune",
    "is_tuned",
    "learn_from_use",
    "past_requests",
    "phrase_keys",
    "phrase_space",
    "reuse_adapter",
    "reuse_calibration",
    "reuse_encoder",
    "reused_tuning",
    "serving_encoder",
    "tune",
    "tuned_folder",
    "tuned_key",
    "update_calibration",
]
