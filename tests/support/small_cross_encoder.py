"""A cross-encoder small enough to make in a test: `small_encoder`'s BERT with a head of one label."""

import json
from pathlib import Path

import numpy as np

from tests.support import small_encoder

_HIDDEN = 32


def save(folder: Path, *, labels: int = 1, seed: int = 0) -> Path:
    """Write it with its tokenizer; equal seeds give equal weights. Its scores are arbitrary, and far enough apart."""
    from safetensors.numpy import load_file, save_file

    small_encoder.save(folder, hidden=_HIDDEN, seed=seed)
    weights = {f"bert.{name}": weight for name, weight in load_file(folder / "model.safetensors").items()}
    random = np.random.default_rng(seed)
    # Ten times what BERT begins with: pooled vectors of two layers hardly differ, and the sigmoid flattens the rest.
    weights["classifier.weight"] = random.normal(0, 10, (labels, _HIDDEN)).astype(np.float32)
    weights["classifier.bias"] = np.zeros(labels, np.float32)
    save_file(weights, folder / "model.safetensors")
    for name in ("modules.json", "sentence_bert_config.json", "1_Pooling/config.json"):
        (folder / name).unlink()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {
        "architectures": ["BertForSequenceClassification"],
        "id2label": {str(label): f"LABEL_{label}" for label in range(labels)},
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder
