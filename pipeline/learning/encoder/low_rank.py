"""Low-rank deltas of a model's linear maps (LoRA): Hu et al., ICLR 2022. The maps themselves stay as they are."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.delta import Factors, change_of
from pipeline.vectors.sentence_transformer import linear_maps

# As usual: the delta of a map is 2 BA, with A random and B zero at the start.
SCALE = 2.0


def add_deltas(model: Any, rank: int) -> None:
    """Freeze a torch model and give each of its linear maps a trainable delta of a rank.

    A map's output becomes Wx + 2 B(Ax): the product BA, as large as W, is never made while training.
    """
    import torch
    from torch import nn

    class LowRank(nn.Module):
        """Hold the factors of one map's delta, and return what it adds to the map's output."""

        def __init__(self, outputs: int, inputs: int) -> None:
            super().__init__()
            least = min(rank, outputs, inputs)
            self.down = nn.Parameter(torch.randn(least, inputs) / inputs**0.5)
            self.up = nn.Parameter(torch.zeros(outputs, least))

        def forward(self, vectors: Any) -> Any:
            return (vectors @ self.down.T) @ (SCALE * self.up).T

    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for _, module in list(linear_maps(model)):
        module.delta = LowRank(*module.weight.shape)
        module.register_forward_hook(_add_delta)


def deltas_of(model: Any, share: float = 1.0) -> dict[str, Factors]:
    """Return a share of a model's deltas, by the names of their maps, in float16; none of a map whose delta is zero."""
    factors = {
        name: (_rounded(module.delta.down), _rounded(share * module.delta.up))
        for name, module in linear_maps(model)
        if hasattr(module, "delta")
    }
    return {name: (down, up) for name, (down, up) in factors.items() if up.any() and down.any()}


def merge_deltas(model: Any, deltas: Mapping[str, Factors]) -> None:
    """Add deltas to the weights of a model without any, as a reader of their file adds them."""
    import torch

    with torch.no_grad():
        for name, module in linear_maps(model):
            if name in deltas:
                module.weight += torch.from_numpy(change_of(deltas[name], SCALE))


def _add_delta(module: Any, inputs: tuple[Any, ...], output: Any) -> Any:
    return output + module.delta(inputs[0])


def _rounded(factor: Any) -> NDArray[np.float16]:
    values: NDArray[np.float16] = factor.detach().cpu().numpy().astype(np.float16)
    return values
