"""Models whose deltas are as if they had been trained."""

from pipeline.learning.encoder.low_rank import add_deltas, deltas_of, merge_deltas
from pipeline.learning.encoder.model import load_model
from pipeline.learning.encoder.training import TrainedModel
from router.encoding.export import EncoderModel


def trained(base: EncoderModel, rank: int = 4, seed: int = 0) -> TrainedModel:
    """Return a model with random deltas of all maps but the pooler's, which no training reaches.

    Equal seeds give equal deltas.
    """
    import torch

    learner, model = load_model(base), load_model(base)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        add_deltas(learner, rank)
        with torch.no_grad():
            for name, weight in learner.named_parameters():
                if name.endswith(".up") and "pooler" not in name:
                    weight.normal_(std=0.1)
    deltas = deltas_of(learner)
    merge_deltas(model, deltas)
    return TrainedModel(model, deltas, 1, 1, {})
