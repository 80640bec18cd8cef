"""BERTs of any shape with weights that matter: each layer changes the vector."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.encoders.export import EncoderModel, describe_model
from tests.support.small_encoder import save


def strong(folder: Path, *, pooling: str = "mean", hidden: int = 32, seed: int = 0, **config: Any) -> EncoderModel:
    """A small BERT whose weights are drawn wide; `config` replaces fields of its config.json."""
    from safetensors.numpy import load_file, save_file

    save(folder, pooling=pooling, hidden=hidden, seed=seed)
    random = np.random.default_rng(seed)
    path = folder / "model.safetensors"
    drawn = {name: random.normal(0, 0.4, held.shape).astype(np.float32) for name, held in load_file(path).items()}
    save_file(drawn, path)
    change(folder / "config.json", **config)
    return describe_model("small", folder)


def change(path: Path, **fields: Any) -> None:
    """Replace fields of a JSON file."""
    held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**held, **fields}), encoding="utf-8")
