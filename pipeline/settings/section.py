"""The base of every section of the settings."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Frozen; refuses what it does not know, and numbers that are none; its errors quote no value."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False)
