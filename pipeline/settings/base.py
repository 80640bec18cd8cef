"""The base of every section of the settings."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A frozen section. It refuses unknown fields and numbers that are not finite; its errors quote no value.

    The docstring under a field is its description in the settings reference (docs/generators/settings.py).
    """

    # Without use_attribute_docstrings: each start of the program would parse the source of every section, 60 ms.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False)
