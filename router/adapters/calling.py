"""What the adapters share: how a tool is called, and what of the answer a model reads."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

Call = Callable[[str, Mapping[str, Any]], Any | Awaitable[Any]]


def as_text(answer: Any) -> str:
    """An answer as a model reads it: a text as it is, anything else as JSON."""
    if isinstance(answer, str):
        return answer
    return msgspec.json.encode(answer, enc_hook=str).decode()
