"""Train one encoder of several catalogs: measured against its base, and saved with a card where it gained."""

import json
import shutil
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pipeline.encoders.delta import DELTA_FILE, write_checksums
from pipeline.encoders.export import WEIGHTS_FILE, EncoderModel, describe_model
from pipeline.errors import RunAborted
from pipeline.learning import background
from pipeline.progress import Progress
from pipeline.vectors import ReferenceEncoder
from quartermaster.training.measuring import is_gain, measure_gain
from quartermaster.training.requests import LabelledRequests, TrainingPlan
from router.distribution import install_command
from router.fingerprint import fingerprint

CARD = "training.json"
# Part of each card, and of the name of its checkpoints: raise it with any change to what is learned.
VERSION = 3

_FEWEST_PAIRS = 200
_PACKAGES = ("torch", "sentence_transformers", "datasets", "accelerate", "peft")
_BATCH = 32  # texts that are encoded at once


@dataclass(frozen=True)
class TrainingReport:
    """A training, as its card tells it: the `command`, `base` and `data`, the `plan`, the steps taken, and the gain."""

    command: str
    base: dict[str, str]
    data: dict[str, Any]
    plan: TrainingPlan
    steps: int
    gain: dict[str, Any]

    @property
    def is_gain(self) -> bool:
        """Return whether the encoder found more than its base, beyond chance."""
        return is_gain(self.gain)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {"version": VERSION, **asdict(self)}


def train_encoder(
    base: EncoderModel, found: LabelledRequests, plan: TrainingPlan, folder: Path, progress: Progress, command: str
) -> TrainingReport:
    """Train `base` on several catalogs, and write it into `folder` where it gained beyond chance; return the report.

    Checkpoints lie beside the folder until it ends. Raises RunAborted where there is too little to learn from, or a
    package is missing.
    """
    _check(base, found, plan)
    from quartermaster.training.saving import save_model
    from quartermaster.training.trainer import train_model

    tools = [base.document_prefix + text for text in found.pairs.tools]
    pairs, hidden = replace(found.pairs, tools=tools), folder.with_name(f".{folder.name}.training")
    checkpoints = hidden / fingerprint([VERSION, base.revision, pairs.content, asdict(plan)])[:16]
    checkpoints.mkdir(parents=True, exist_ok=True)
    model, steps = train_model(base, pairs, plan, progress, checkpoints)
    progress.start("weigh", None)
    making = folder.with_name(f".making-{folder.name}")
    shutil.rmtree(making, ignore_errors=True)
    save_model(model, base, plan, making, folder)
    # Measured as it will serve: read from its files.
    trained = describe_model(str(making), making, base.query_prefix, lambda _: base.folder)
    before, after = (ReferenceEncoder(one, _BATCH).encode for one in (base, trained))
    everyday = [query.request for query in background()]
    gain = measure_gain(before, after, pairs, found.names, everyday, base.query_prefix)
    data = {
        "content": pairs.content,
        "catalogs": list(found.names),
        "tools": len(pairs.tools),
        "pairs": len(pairs.taught),
        "held_out": int(pairs.held_out.sum()),
        "held_back_providers": len(found.providers),
    }
    report = TrainingReport(command, {"name": base.name, "revision": base.revision}, data, plan, steps, gain)
    if report.is_gain:
        _write_card(making, report)
        making.rename(folder)
    for left in (making, hidden):
        shutil.rmtree(left, ignore_errors=True)
    return report


def _check(base: EncoderModel, found: LabelledRequests, plan: TrainingPlan) -> None:
    """Raise RunAborted for what would end a training after minutes."""
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        raise RunAborted(f"training an encoder takes {missing[0]}: {install_command('train')} brings it")
    pairs = found.pairs
    if len(pairs.requests) < _FEWEST_PAIRS or not pairs.held_out.any() or pairs.held_out.all():
        raise RunAborted(
            f"there are {len(pairs.requests)} requests with known tools, of {len(found.names)} catalogs: training "
            f"takes {_FEWEST_PAIRS}, of several providers. Give --requests, or catalogs whose phrases a model or a "
            "file wrote"
        )
    if plan.rank and not (base.folder / WEIGHTS_FILE).is_file():
        raise RunAborted(
            f"the encoder {base.name} has no {WEIGHTS_FILE}, which a delta is made over: train all of its weights with "
            "--rank 0"
        )


def _write_card(folder: Path, report: TrainingReport) -> None:
    """Write the card into an encoder's folder. It holds no date and no duration: equal trainings give equal files."""
    card = {**report.to_json(), "versions": {package: version(package) for package in _PACKAGES}}
    (folder / CARD).write_text(json.dumps(card, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    if (folder / DELTA_FILE).is_file():
        write_checksums(folder)
