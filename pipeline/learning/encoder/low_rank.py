"""Low-rank deltas of a model's linear maps (LoRA): Hu et al., ICLR 2022. The maps themselves stay as they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.vectors.sentence_transformer import linear_maps
from router.encoding.delta import Factors, change_of

# As usual: the delta of a map is 2 BA, with A random and B zero at the start.
SCALE = 2.0
_MERGED = "merged_factors"  # the attribute of a map that keeps what was merged into it


def add_deltas(model: Any, rank: int) -> None:
    """Freeze a torch model and give each of its linear maps a trainable delta of a rank."""
    from torch.nn.utils import parametrize

    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for _, module in linear_maps(model):
        parametrize.register_parametrization(module, "weight", _delta(module, rank), unsafe=True)


def merge_deltas(model: Any) -> None:
    """Add the deltas to the maps, so that the model is of its own kind again.

    They are rounded to float16 and added as a reader of their file adds them: what is measured from here on is what is
    saved.
    """
    import torch
    from torch.nn.utils import parametrize

    factors = _factors(model)
    for name, module in linear_maps(model):
        parametrize.remove_parametrizations(module, "weight", leave_parametrized=False)
        with torch.no_grad():
            module.weight += torch.from_numpy(change_of(factors[name], SCALE))
        setattr(module, _MERGED, factors[name])


def deltas_of(model: Any) -> dict[str, Factors]:
    """Return the deltas by the names of their maps, in float16, before or after they were merged.

    Empty where all weights were trained. A map whose delta is zero is left out.
    """
    return {name: (down, up) for name, (down, up) in _factors(model).items() if up.any() and down.any()}


def _factors(model: Any) -> dict[str, Factors]:
    from torch.nn.utils import parametrize

    factors: dict[str, Factors] = {}
    for name, module in linear_maps(model):
        if parametrize.is_parametrized(module, "weight"):
            delta = module.parametrizations.weight[0]
            factors[name] = (_rounded(delta.down), _rounded(delta.up))
        elif merged := getattr(module, _MERGED, None):
            factors[name] = merged
    return factors


def _rounded(factor: Any) -> NDArray[np.float16]:
    values: NDArray[np.float16] = factor.detach().cpu().numpy().astype(np.float16)
    return values


def _delta(module: Any, rank: int) -> Any:
    import torch
    from torch import nn

    class LowRank(nn.Module):
        """Return a weight with its delta added."""

        def __init__(self) -> None:
            super().__init__()
            outputs, inputs = module.weight.shape
            least = min(rank, outputs, inputs)
            self.down = nn.Parameter(torch.randn(least, inputs) / inputs**0.5)
            self.up = nn.Parameter(torch.zeros(outputs, least))

        def forward(self, weight: Any) -> Any:
            return weight + SCALE * self.up @ self.down

    return LowRank()
