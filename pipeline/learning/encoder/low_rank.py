"""Low-rank deltas of a model's linear maps (LoRA): Hu et al., ICLR 2022. The maps themselves stay as they are."""

from collections.abc import Iterator
from typing import Any

# As usual: the delta of a map is 2 BA, with A random and B zero at the start.
_SCALE = 2.0


def add_deltas(model: Any, rank: int) -> None:
    """Freeze a torch model and give each of its linear maps a trainable delta of a rank."""
    from torch import nn
    from torch.nn.utils import parametrize

    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for module in _linear_maps(model):
        assert isinstance(module, nn.Linear)
        parametrize.register_parametrization(module, "weight", _delta(module, rank), unsafe=True)


def merge_deltas(model: Any) -> None:
    """Add the deltas to the maps, so that the model is of its own kind again."""
    from torch.nn.utils import parametrize

    for module in _linear_maps(model):
        parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)


def _linear_maps(model: Any) -> Iterator[Any]:
    from torch import nn

    return iter([module for module in model.modules() if isinstance(module, nn.Linear)])


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
            return weight + _SCALE * self.up @ self.down

    return LowRank()
