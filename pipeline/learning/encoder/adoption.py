"""Fine-tune the encoder of one catalog, and say whether it is adopted: where it finds more and mistakes no more."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export import EncoderModel
from pipeline.learning.encoder.card import write_card
from pipeline.learning.encoder.measuring import Space
from pipeline.learning.encoder.model import encode, load_model, move_back
from pipeline.learning.encoder.pairs import TrainingPairs
from pipeline.learning.encoder.plan import TrainingPlan
from pipeline.learning.encoder.reuse import ENCODER_VERSION
from pipeline.learning.encoder.saving import save_encoder
from pipeline.learning.encoder.training import train_encoder
from pipeline.progress import Progress
from quartermaster.evaluation.resampling import chance

FEWEST_PAIRS = 200
MOST_HALVINGS = 2
MISTAKES_MORE = "it takes more everyday requests for requests of the catalog"
# As for the adapter; nothing here has chosen the pairs that judge, but a wrong yes costs a re-embedding.
SIGNIFICANCE = 0.02
BACKGROUND_SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class EncoderEvidence:
    """The evidence for a fine-tuned encoder, or why there is none (`skipped`, else "").

    `mrr_before` and `mrr_after` are mean reciprocal ranks of the own tool, over `judged` held-out requests, by the
    dense list of the base and of the tuned encoder; `p` is that of a paired randomisation test. `mistaken_before` and
    `mistaken_after` are the chance that a background query's best standard score is at least that of a held-out
    request; `mistaken_p` is their test. `base` is the revision of the base, `key` names what was trained. `steps` is
    how far training went until its best check, `share` how far the result lies from the base: 1 is all that was
    trained, less is a mean of both models' weights.
    """

    version: int
    key: str
    base: str
    pairs: int
    judged: int = 0
    steps: int = 0
    share: float = 1.0
    mrr_before: float | None = None
    mrr_after: float | None = None
    p: float | None = None
    mistaken_before: float | None = None
    mistaken_after: float | None = None
    mistaken_p: float | None = None
    skipped: str = ""

    @property
    def adopted(self) -> bool:
        """Return whether the catalog is served by the tuned encoder."""
        return not self.skipped

    @property
    def mistakes_more(self) -> bool:
        """Return whether only everyday requests spoke against it."""
        return self.skipped == MISTAKES_MORE

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, for the manifest."""
        return asdict(self)


def fine_tune(
    base: EncoderModel,
    pairs: TrainingPairs,
    kept: NDArray[np.int64],
    background: Sequence[str],
    plan: TrainingPlan,
    key: str,
    folder: Path,
    progress: Progress,
) -> EncoderEvidence:
    """Train on the pairs, and save the encoder into `folder` where it is adopted; return the evidence.

    `kept` are the pairs whose texts are phrases of the catalog that are not held out, sorted by owner. Raises
    RunAborted where torch is missing or the base cannot be loaded.
    """
    evidence = EncoderEvidence(ENCODER_VERSION, key, base.revision, len(pairs.requests))
    if len(pairs.requests) < FEWEST_PAIRS:
        return replace(evidence, skipped=_too_few(len(pairs.requests)))
    checkpoints = folder.with_name(f".{folder.name}.training")
    trained = train_encoder(base, pairs, plan, progress, checkpoints)
    evidence = replace(evidence, steps=trained.steps)
    if not trained.steps:
        shutil.rmtree(checkpoints, ignore_errors=True)
        return replace(evidence, skipped="training found no more of the held-out requests' tools")
    progress.start("weigh", None)
    untuned = load_model(base)
    before = Space.encoded(pairs, kept, background, partial(encode, untuned), base.query_prefix)
    evidence = _first_adopted(evidence, before, untuned, trained.model)
    if evidence.adopted:
        write = partial(write_card, figures=evidence.to_json())
        save_encoder(trained, folder, base, write, evidence.share)
    shutil.rmtree(checkpoints, ignore_errors=True)
    return evidence


def _first_adopted(evidence: EncoderEvidence, before: Space, untuned: Any, model: Any) -> EncoderEvidence:
    """Move a trained model back towards the untuned one until it is adopted; return the last evidence.

    The mean of both models' weights keeps most of the gain, and takes fewer everyday requests for the catalog's.
    """
    prefix, share = before.prefix, 1.0
    for halvings in range(MOST_HALVINGS + 1):
        if halvings:
            move_back(model, untuned, 0.5)
            share /= 2
        after = Space.encoded(before.pairs, before.kept, before.everyday, partial(encode, model), prefix)
        told = replace(compared(evidence, before, after), share=share)
        if told.adopted or not told.mistakes_more:
            break
    return told


def compared(evidence: EncoderEvidence, before: Space, after: Space) -> EncoderEvidence:
    """Return the evidence with both tests, and with why the encoder is not adopted where it is not."""
    ranks, tuned_ranks = before.reciprocal_ranks(), after.reciprocal_ranks()
    mistaken, tuned_mistaken = before.mistaken(), after.mistaken()
    evidence = replace(
        evidence,
        judged=len(ranks),
        mrr_before=_rounded(ranks),
        mrr_after=_rounded(tuned_ranks),
        p=round(chance(tuned_ranks - ranks), 4),
        mistaken_before=_rounded(mistaken),
        mistaken_after=_rounded(tuned_mistaken),
        mistaken_p=round(chance(tuned_mistaken - mistaken), 4),
    )
    assert evidence.p is not None and evidence.mistaken_p is not None
    if tuned_ranks.mean() <= ranks.mean() or evidence.p > SIGNIFICANCE:
        return replace(evidence, skipped=f"its gain on held-out requests may be chance (p = {evidence.p:.2g})")
    if tuned_mistaken.mean() > mistaken.mean() and evidence.mistaken_p <= BACKGROUND_SIGNIFICANCE:
        return replace(evidence, skipped=MISTAKES_MORE)
    return evidence


def _rounded(values: NDArray[np.float64]) -> float:
    return round(float(values.mean()), 4)


def _too_few(pairs: int) -> str:
    count = f"{pairs} requests" if pairs else "no requests"
    return (
        f"the catalog has {count} to learn from (phrases of a model or a file, judged and past requests), and "
        f"fine-tuning takes {FEWEST_PAIRS}"
    )
