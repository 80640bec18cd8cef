"""Makes the tools whose needs are found."""

from collections.abc import Sequence
from typing import Any

from router.record import ToolRecord
from router.tools.definitions.rows import parameter_rows
from tests.support.factories import make_record


def tool(
    name: str, *required: str, optional: Sequence[str] = (), provider: str | None = "p", **more: Any
) -> ToolRecord:
    """A tool with string parameters, whose texts are in `texts`; or of the properties of a `schema`."""
    texts = more.pop("texts", {})
    properties = {p: {"type": "string", "description": texts.get(p, "")} for p in (*required, *optional)}
    schema = more.pop("schema", {"type": "object", "properties": properties, "required": list(required)})
    more.setdefault("description", "")
    return make_record(name, provider, input_schema=schema, parameters=parameter_rows(schema), **more)
