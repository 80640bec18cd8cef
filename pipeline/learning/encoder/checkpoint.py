"""Keep a training on disk, so that one that is killed goes on from its last check."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKPOINT = "training.pt"


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training after a check.

    `weights`, `optimizer` and `schedule` are torch's states; `best` are the weights that did best, `best_step` when;
    `scores` has by step the mean reciprocal rank of the requests that tell when to stop.
    """

    step: int
    weights: dict[str, Any]
    optimizer: dict[str, Any]
    schedule: dict[str, Any]
    best: dict[str, Any]
    best_step: int
    scores: dict[int, float]

    def save(self, folder: Path, key: str) -> None:
        """Write the checkpoint into a folder; `key` names the training that it is of."""
        import torch

        folder.mkdir(parents=True, exist_ok=True)
        hidden = folder / f".{CHECKPOINT}"
        torch.save({"key": key, **vars(self)}, hidden)
        hidden.replace(folder / CHECKPOINT)


def read_checkpoint(folder: Path, key: str) -> Checkpoint | None:
    """Return the checkpoint in a folder; None where there is none, or it is damaged or of another training."""
    import torch

    try:
        state = torch.load(folder / CHECKPOINT, weights_only=True)
        return Checkpoint(**state) if state.pop("key") == key else None
    except Exception:  # noqa: BLE001 - what a damaged file raises depends on its bytes; the training begins anew
        return None
