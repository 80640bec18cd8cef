"""Train an encoder: batches of siblings through a ranking loss, checked as it goes, and stopped in time."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.delta import Factors
from pipeline.encoders.export import EncoderModel
from pipeline.learning.encoder.batches import nearest_tools
from pipeline.learning.encoder.checkpoint import Checkpoint, read_checkpoint
from pipeline.learning.encoder.loss import batch_loss
from pipeline.learning.encoder.low_rank import add_deltas, deltas_of, merge_deltas
from pipeline.learning.encoder.measuring import StopMeasure
from pipeline.learning.encoder.model import bfloat16_autocast, encode, has_bfloat16, load_model, move_back
from pipeline.learning.encoder.pairs import TrainingPairs
from pipeline.learning.encoder.plan import TrainingPlan, planned_batches
from pipeline.progress import Progress
from router.fingerprint import fingerprint

_WEIGHT_DECAY = 0.01
_LONGEST_GRADIENT = 1.0


@dataclass(frozen=True)
class TrainedModel:
    """A trained SentenceTransformer: of `planned` steps it has the first `steps`; 0 where no check was a gain.

    `deltas` are the plan's share of what was trained, by the names of the linear maps; empty where all weights were
    trained. `scores` has by step the mean reciprocal rank of the requests that told when to stop.
    """

    model: Any
    deltas: Mapping[str, Factors]
    steps: int
    planned: int
    scores: dict[int, float]


def train_encoder(
    base: EncoderModel, pairs: TrainingPairs, plan: TrainingPlan, progress: Progress, checkpoints: Path | None = None
) -> TrainedModel:
    """Return the encoder, trained on the pairs that are not held out, as it was at its best check.

    On one machine equal inputs give equal weights. A training that finds its own checkpoint in `checkpoints` goes on
    from there. Raises RunAborted where torch is missing or the model cannot be loaded.
    """
    learner = load_model(base, for_training=True)
    import torch

    progress.start("prepare", None)
    nearest = _nearest(learner, pairs, plan.size.siblings)
    batches = planned_batches(pairs, nearest, plan)
    measure = StopMeasure.of(pairs, plan.seed)
    with torch.random.fork_rng(devices=[]):
        training = _Training(learner, pairs, batches, plan, base, measure)
        training.run(progress, checkpoints)
    model = load_model(base)
    deltas = deltas_of(learner, plan.share)
    if plan.rank:
        merge_deltas(model, deltas)
    else:
        model, untrained = learner, model
        move_back(model, untrained, plan.share)
    return TrainedModel(model, deltas, training.best_step, len(batches), training.scores)


def _nearest(model: Any, pairs: TrainingPairs, count: int) -> NDArray[np.int64]:
    """Return the nearest tools with requests, for each tool with requests; shape (tools, count), padded with -1."""
    asked = np.unique(pairs.owners)
    vectors = encode(model, [pairs.tools[tool] for tool in asked.tolist()])
    places = nearest_tools(vectors, pairs.group[asked], count)
    nearest = np.full((len(pairs.tools), count), -1, np.int64)
    nearest[asked] = np.where(places < 0, -1, asked[places])
    return nearest


class _Training:
    """A training in progress. It leaves the model with the weights that did best."""

    def __init__(
        self,
        model: Any,
        pairs: TrainingPairs,
        batches: list[NDArray[np.int64]],
        plan: TrainingPlan,
        base: EncoderModel,
        measure: StopMeasure,
    ) -> None:
        import torch
        from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

        self._model, self._pairs, self._batches, self._plan, self._base = model, pairs, batches, plan, base
        self._measure = measure
        torch.manual_seed(plan.seed)
        if plan.rank:
            if has_bfloat16():
                model.bfloat16()  # its weights stay as they are: rounded once, not at each product
            add_deltas(model, plan.rank)
        self._trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self._loss = MultipleNegativesRankingLoss(model)
        self._optimizer = torch.optim.AdamW(self._trained.values(), lr=plan.rate, weight_decay=_WEIGHT_DECAY)
        warm = max(len(batches) // 10, 1)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda step: min((step + 1) / warm, (len(batches) - step) / max(len(batches) - warm, 1))
        )
        self._best = self._weights()
        self.best_step = 0
        self.scores = {0: self._score()}  # rounded as all later ones are

    def run(self, progress: Progress, checkpoints: Path | None) -> None:
        key = fingerprint([self._base.revision, self._pairs.content, asdict(self._plan)])
        done = 0
        if checkpoints is not None and (known := read_checkpoint(checkpoints, key)) is not None:
            self._restore(known)
            done = known.step
        progress.start("finetune", len(self._batches))
        progress.advance(done)
        count = len(self._batches)
        checks = {round(count * (number + 1) / self._plan.checks) for number in range(self._plan.checks)}
        for step in range(done + 1, count + 1):
            if self._is_stalled(checks):
                break
            self._step(step)
            progress.advance()
            if step in checks:
                self._check(step)
                if checkpoints is not None:
                    self._checkpoint(step).save(checkpoints, key)
        self._load(self._best)

    def _step(self, step: int) -> None:
        """Take one step, without dropout: it costs a third of the time, and few weights are trained."""
        import torch

        whole, self._model.max_seq_length = self._model.max_seq_length, self._plan.max_tokens
        batch, prefix = self._batches[step - 1], self._base.query_prefix
        self._optimizer.zero_grad()
        # Autocast keeps rounded copies of weights until it ends: it must not outlast the step that changes them.
        with bfloat16_autocast():
            try:
                loss = batch_loss(self._model, self._loss, self._pairs, batch, prefix)
            finally:
                self._model.max_seq_length = whole
            loss.backward()
        torch.nn.utils.clip_grad_norm_(self._trained.values(), _LONGEST_GRADIENT)
        self._optimizer.step()
        self._schedule.step()

    def _score(self) -> float:
        with bfloat16_autocast():
            return self._measure.mean_reciprocal_rank(partial(encode, self._model), self._base.query_prefix)

    def _check(self, step: int) -> None:
        self.scores[step] = self._score()
        if self.scores[step] > self.scores[self.best_step]:
            self._best, self.best_step = self._weights(), step

    def _is_stalled(self, checks: set[int]) -> bool:
        return sum(step > self.best_step for step in self.scores if step in checks) >= self._plan.patience

    def _weights(self) -> dict[str, Any]:
        return {name: weight.detach().clone() for name, weight in self._trained.items()}

    def _load(self, weights: dict[str, Any]) -> None:
        for name, weight in self._trained.items():
            weight.data.copy_(weights[name])

    def _checkpoint(self, step: int) -> Checkpoint:
        return Checkpoint(
            step,
            self._weights(),
            self._optimizer.state_dict(),
            self._schedule.state_dict(),
            self._best,
            self.best_step,
            self.scores,
        )

    def _restore(self, known: Checkpoint) -> None:
        self._load(known.weights)
        self._optimizer.load_state_dict(known.optimizer)
        self._schedule.load_state_dict(known.schedule)
        self._best, self.best_step, self.scores = known.best, known.best_step, known.scores
