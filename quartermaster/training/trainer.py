"""Train an encoder by sentence-transformers' trainer, checked as it goes and stopped in time.

Batches hold siblings: in a batch every other tool is a negative, and near ones are hard ones.

Imported only where training begins: torch and what trains with it take seconds.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from peft import LoraConfig
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import SentenceEvaluator
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.util import semantic_search
from transformers import EarlyStoppingCallback, PrinterCallback, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint

from pipeline.encoders.export import EncoderModel
from pipeline.progress import Progress
from pipeline.vectors.model import load_sentence_transformer
from quartermaster.training.measuring import reciprocal_ranks
from quartermaster.training.requests import TrainingPairs, TrainingPlan

SCALE = 2  # of a low-rank delta, as usual

_WARM_UP = 0.1  # of the steps
# The gradient of fused attention over short texts takes longer than all else.
_ATTENTION = {"attn_implementation": "eager"}
_SIBLINGS = 4
# Tools as near as this are duplicates, or their texts do not tell them apart: no negatives of each other.
_TOO_NEAR = 0.97
_LOOKED_AT = 16  # the nearest: itself, duplicates and siblings

Siblings = dict[int, list[int]]  # near tools with requests, of each tool with requests


def train_model(
    base: EncoderModel, pairs: TrainingPairs, plan: TrainingPlan, progress: Progress, checkpoints: Path
) -> tuple[Any, int]:
    """Return the SentenceTransformer as it was at its best check, and the number of steps until then.

    It is trained on the pairs that are not held out; deltas are not merged. On one machine equal inputs give equal
    weights. A training that finds checkpoints in their folder goes on from the last. Raises RunAborted where the model
    cannot be loaded.
    """
    progress.start("prepare", None)
    model = _loaded(base, checkpoints)
    model.max_seq_length = min(plan.max_tokens, base.max_length)
    asked = np.unique(pairs.owners[pairs.taught])
    siblings = siblings_of(pairs, asked, _encode(model, [pairs.tools[tool] for tool in asked.tolist()]))
    if plan.rank:
        torch.manual_seed(plan.seed)
        model.add_adapter(LoraConfig(r=plan.rank, lora_alpha=SCALE * plan.rank, target_modules="all-linear"))
    texts = [pairs.tools[tool] for tool in pairs.owners[pairs.taught].tolist()]
    dataset = Dataset.from_dict({"request": [pairs.requests[row] for row in pairs.taught.tolist()], "tool": texts})
    batches = partial(SiblingBatches, pairs=pairs, siblings=siblings)
    an_epoch = len(batches(dataset, batch_size=plan.batch_size, drop_last=False, seed=plan.seed))
    steps = min(plan.most_steps, plan.epochs * an_epoch)
    trainer = SentenceTransformerTrainer(
        model,
        _arguments(plan, steps, batches, base.query_prefix, checkpoints),
        train_dataset=dataset,
        loss=MultipleNegativesRankingLoss(model),
        evaluator=_Stop(pairs, base.query_prefix),
        callbacks=[EarlyStoppingCallback(plan.patience), _Advance(progress)],
    )
    trainer.remove_callback(PrinterCallback)
    progress.start("train", steps)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(checkpoints)))  # type: ignore[no-untyped-call]
    model.max_seq_length = base.max_length
    return model, int(str(trainer.state.best_model_checkpoint).rpartition("-")[2])


def siblings_of(pairs: TrainingPairs, asked: NDArray[np.int64], vectors: NDArray[np.float32]) -> Siblings:
    """Return the siblings of the tools `asked`, in their own catalogs, nearest first.

    `vectors` (asked, dim) are L2-normalised, of the encoder before it is trained.
    """
    found: Siblings = {}
    for group in np.unique(pairs.group[asked]):
        rows = np.flatnonzero(pairs.group[asked] == group)
        of_group = torch.from_numpy(vectors[rows])
        for row, hits in zip(rows, semantic_search(of_group, of_group, top_k=_LOOKED_AT), strict=True):
            near = [int(rows[int(hit["corpus_id"])]) for hit in hits if hit["score"] < _TOO_NEAR]
            found[int(asked[row])] = [int(asked[other]) for other in near if other != row][:_SIBLINGS]
    return found


class SiblingBatches(DefaultBatchSampler):
    """Yields batches of places in `pairs.taught`, each at most once an epoch, equal for equal seeds.

    A batch is filled by a random tool and its siblings, again and again, with one request of each. A tool that a
    request of the batch needs as well is never its negative. The epoch ends before a batch that would be small.
    """

    def __init__(self, dataset: Any, pairs: TrainingPairs, siblings: Siblings, **options: Any) -> None:
        super().__init__(dataset, **options)
        self._pairs, self._siblings = pairs, siblings

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        waiting: dict[int, list[int]] = {}
        for place in rng.permutation(len(self._pairs.taught)).tolist():
            waiting.setdefault(int(self._pairs.owners[self._pairs.taught[place]]), []).append(place)
        while waiting:
            batch = self._batch(rng.permutation(list(waiting)).tolist(), waiting)
            waiting = {tool: places for tool, places in waiting.items() if places}
            if len(batch) < max(self.batch_size // 4, 2):
                return
            yield batch

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _batch(self, tools: Sequence[int], waiting: dict[int, list[int]]) -> list[int]:
        batch: dict[int, int] = {}  # by tool
        needed: set[int] = set()
        for tool in (near for drawn in tools for near in (drawn, *self._siblings[drawn])):
            if tool in batch or tool in needed or not waiting.get(tool):
                continue
            others = self._pairs.needed[self._pairs.requests[self._pairs.taught[waiting[tool][-1]]]] - {tool}
            if others.isdisjoint(batch):
                batch[tool] = waiting[tool].pop()
                needed |= others
            if len(batch) == self.batch_size:
                break
        return list(batch.values())


class _Stop(SentenceEvaluator):
    """Scores a model by the mean reciprocal rank of the requests that tell when to stop."""

    def __init__(self, pairs: TrainingPairs, prefix: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.primary_metric = "mrr"
        self._pairs, self._prefix = pairs, prefix

    def __call__(self, model: Any, *_: Any, **__: Any) -> dict[str, float]:
        ranks = reciprocal_ranks(partial(_encode, model), self._pairs, self._pairs.stopping, self._prefix)
        return {"mrr": round(float(ranks.mean()), 6)}


class _Advance(TrainerCallback):
    """Passes steps on to the progress."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.advance(state.global_step)  # of a training that goes on

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.advance()


def _arguments(plan: TrainingPlan, steps: int, batches: Any, prefix: str, checkpoints: Path) -> Any:
    check = max(steps // plan.checks, 1)
    return SentenceTransformerTrainingArguments(
        output_dir=str(checkpoints),
        max_steps=steps,
        per_device_train_batch_size=plan.batch_size,
        batch_sampler=batches,
        prompts={"request": prefix} if prefix else None,
        learning_rate=plan.rate,
        warmup_steps=round(steps * _WARM_UP),
        weight_decay=0.01,
        eval_strategy="steps",
        eval_steps=check,
        save_strategy="steps",
        save_steps=check,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="eval_mrr",
        greater_is_better=True,
        seed=plan.seed,
        # With units for bfloat16, training takes half of the time.
        bf16=bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()),
        use_cpu=True,
        disable_tqdm=True,
        logging_strategy="no",
        report_to="none",
    )


def _loaded(base: EncoderModel, checkpoints: Path) -> Any:
    """Return the model to train. A delta is merged into its base on disk: a checkpoint names the folder below it."""
    if base.delta is None:
        return load_sentence_transformer(base, _ATTENTION)
    merged = str(checkpoints / "base")
    load_sentence_transformer(base).save(merged, create_model_card=False)
    return SentenceTransformer(merged, device="cpu", model_kwargs=_ATTENTION, local_files_only=True)


def _encode(model: Any, texts: Any) -> Any:
    """Return L2-normalised vectors of texts, float32 of shape (texts, dim)."""
    return model.encode(list(texts), normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
