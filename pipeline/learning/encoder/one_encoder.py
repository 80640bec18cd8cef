"""Make one encoder of several catalogs: trained, measured, and saved with a card where it gained."""

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.encoders.export import EncoderModel
from pipeline.errors import RunAborted
from pipeline.learning.encoder.adoption import FEWEST_PAIRS, SIGNIFICANCE
from pipeline.learning.encoder.card import write_card
from pipeline.learning.encoder.model import load_model
from pipeline.learning.encoder.plan import TrainingPlan
from pipeline.learning.encoder.report import GainReport, measure_gain
from pipeline.learning.encoder.reuse import ENCODER_VERSION
from pipeline.learning.encoder.saving import save_encoder
from pipeline.learning.encoder.several_catalogs import SeveralCatalogs
from pipeline.learning.encoder.training import train_encoder
from pipeline.learning.no_answer_calibration.background import background
from pipeline.progress import Progress


@dataclass(frozen=True)
class Recorded:
    """A training, as its card tells it: the `command`, `base` and `data`, the `plan`, the steps taken, and the gain."""

    command: str
    base: dict[str, str]
    data: dict[str, Any]
    plan: TrainingPlan
    steps: int
    gain: GainReport

    @property
    def is_gain(self) -> bool:
        """Return whether the held-back requests gained beyond chance."""
        difference = self.gain.rows[0]["difference"]
        return bool(difference and difference["difference"] > 0 and difference["p"] <= SIGNIFICANCE)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "version": ENCODER_VERSION,
            "command": self.command,
            "base": self.base,
            "data": self.data,
            "plan": asdict(self.plan),
            "steps": self.steps,
            "gain": self.gain.to_json(),
        }


def train_one(
    base: EncoderModel, found: SeveralCatalogs, plan: TrainingPlan, folder: Path, progress: Progress, command: str
) -> Recorded:
    """Train `base` on several catalogs, and write it into `folder` where it gained; return the record of it.

    Checkpoints lie beside the folder until it ends. Raises RunAborted where there is too little to learn from.
    """
    pairs = found.pairs
    if len(pairs.requests) < FEWEST_PAIRS or not pairs.held_out.any() or pairs.held_out.all():
        raise RunAborted(
            f"there are {len(pairs.requests)} requests with known tools, of {len(found.names)} catalogs: training "
            f"takes {FEWEST_PAIRS}, of several providers. Give --requests, or catalogs whose phrases a model or a file "
            "wrote"
        )
    checkpoints = folder.with_name(f".{folder.name}.training")
    trained = train_encoder(base, pairs, plan, progress, checkpoints)
    progress.start("weigh", None)
    everyday = [query.request for query in background()]
    gain = measure_gain(load_model(base), trained.model, pairs, found.names, everyday, base.query_prefix)
    data = {
        "content": pairs.content,
        "catalogs": list(found.names),
        "tools": len(pairs.tools),
        "pairs": len(pairs.taught),
        "held_out": int(pairs.held_out.sum()),
        "held_back_providers": len(found.providers),
    }
    recorded = Recorded(command, {"name": base.name, "revision": base.revision}, data, plan, trained.steps, gain)
    if recorded.is_gain:
        save_encoder(trained, folder, base, lambda place: write_card(place, recorded.to_json()))
    shutil.rmtree(checkpoints, ignore_errors=True)
    return recorded
