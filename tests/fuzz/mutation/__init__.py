"""The one mutator of all targets: of trees (JSON, JSON Lines, YAML, TOML) and of bytes, with a dictionary of values."""

from tests.fuzz.mutation.forms import Form
from tests.fuzz.mutation.mutator import Mutator

__all__ = ["Form", "Mutator"]
