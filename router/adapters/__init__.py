"""The router in agent frameworks and behind providers' tool searches, each module imported only by those who need it.

The caller passes `call(tool_id, arguments)`, which calls a tool. Its result goes to the model, as JSON unless it is a
text; an exception ends the run. It may be async if the run is.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

Call = Callable[[str, Mapping[str, Any]], Any | Awaitable[Any]]


def as_text(result: Any) -> str:
    """Return a tool's result as a model reads it: a text unchanged, anything else as JSON."""
    if isinstance(result, str):
        return result
    return msgspec.json.encode(result, enc_hook=str).decode()
