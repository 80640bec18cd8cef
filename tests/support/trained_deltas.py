"""Models whose deltas are as if they had been trained."""

from typing import Any

from pipeline.learning.encoder.low_rank import add_deltas, merge_deltas
from pipeline.learning.encoder.model import load_model
from router.encoding.export import EncoderModel


def trained(base: EncoderModel, rank: int = 4, seed: int = 0, merged: bool = True) -> Any:
    """A model with random deltas of all maps but the pooler's, which no training reaches; equal seeds, equal deltas."""
    import torch

    model = load_model(base)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        add_deltas(model, rank)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if name.endswith(".up") and "pooler" not in name:
                    weight.normal_(std=0.1)
    if merged:
        merge_deltas(model)
    return model
