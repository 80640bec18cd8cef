"""The one mutator of all targets: of trees (JSON, JSON Lines, YAML, TOML) and of bytes, with a dictionary of values."""

from simulations.fuzz.mutation.forms import Form
from simulations.fuzz.mutation.mutator import Mutator

__all__ = ["Form", "Mutator"]
