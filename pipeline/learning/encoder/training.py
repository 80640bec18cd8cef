"""Train an encoder: batches of siblings through a ranking loss, checked as it goes, and stopped in time."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.encoder.batches import BatchSize, epoch_batches, nearest_tools
from pipeline.learning.encoder.checkpoint import Checkpoint, read_checkpoint
from pipeline.learning.encoder.loss import batch_loss
from pipeline.learning.encoder.low_rank import add_deltas, deltas_of, merge_deltas
from pipeline.learning.encoder.measuring import StopMeasure
from pipeline.learning.encoder.model import encode, load_model, move_back
from pipeline.learning.encoder.pairs import TrainingPairs
from pipeline.progress import Progress
from router.encoding.delta import Factors
from router.encoding.export import EncoderModel
from router.fingerprint import fingerprint

_WEIGHT_DECAY = 0.01
_LONGEST_GRADIENT = 1.0


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How an encoder is trained. See docs/decisions/0098-fine-tuning-the-encoder.md and 0106-the-packaged-encoder.md.

    `rank` is that of the deltas of its linear maps; 0 trains all weights. `rate` is the highest learning rate: it is
    warmed up over a tenth of the steps, and falls to 0. Training takes `epochs`, at most `most_steps` steps; it is
    checked `checks` times, and ends after `patience` checks without a gain. Texts are cut at `max_tokens`. The result
    lies a `share` of the way from the base to what was trained: 1 is all of it.
    """

    rank: int = 16
    rate: float = 1e-3
    size: BatchSize = field(default_factory=BatchSize)
    epochs: int = 3
    most_steps: int = 400
    checks: int = 6
    patience: int = 2
    max_tokens: int = 96
    share: float = 1.0
    seed: int = 0


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


def planned_batches(pairs: TrainingPairs, nearest: NDArray[np.int64], plan: TrainingPlan) -> list[NDArray[np.int64]]:
    """Return the batches of a training, in order: equal inputs give equal batches."""
    rng = np.random.default_rng(plan.seed)
    epochs = (epoch_batches(pairs, nearest, plan.size, rng) for _ in range(plan.epochs))
    return list(islice((batch for epoch in epochs for batch in epoch), plan.most_steps))


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
    with torch.random.fork_rng(devices=[]), _short_floats():
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
    """Return the nearest of those tools that have requests, for each tool; -1 for the others, and where there are none."""
    asked = np.unique(pairs.owners)
    vectors = encode(model, [pairs.tools[tool] for tool in asked.tolist()])
    places = nearest_tools(vectors, pairs.group[asked], count)
    nearest = np.full((len(pairs.tools), count), -1, np.int64)
    nearest[asked] = np.where(places < 0, -1, asked[places])
    return nearest


@contextmanager
def _short_floats() -> Iterator[None]:
    """Let torch compute in bfloat16 where the processor has units for it: half of the time."""
    import torch

    fast = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    with torch.autocast("cpu", torch.bfloat16, enabled=fast):
        yield


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
        self._score: Callable[[], float] = lambda: measure.mean_reciprocal_rank(
            lambda texts: encode(model, texts), base.query_prefix
        )
        self.scores = {0: self._score()}
        torch.manual_seed(plan.seed)
        if plan.rank:
            model.bfloat16()  # they stay as they are: rounded once, not at each product
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
        """Take one step, without dropout: a third of the time, and few weights learn."""
        import torch

        whole, self._model.max_seq_length = self._model.max_seq_length, self._plan.max_tokens
        try:
            loss = batch_loss(self._model, self._loss, self._pairs, self._batches[step - 1], self._base.query_prefix)
        finally:
            self._model.max_seq_length = whole
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._trained.values(), _LONGEST_GRADIENT)
        self._optimizer.step()
        self._schedule.step()

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
