"""The router in agent frameworks and providers' searches: one module each, imported only by those who have the package.

The caller passes `call(tool_id, arguments)`, which calls a tool. Its result goes to the model, as JSON unless it is a
text; an exception ends the run. It may be async if the run is.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

Call = Callable[[str, Mapping[str, Any]], Any | Awaitable[Any]]


def as_text(result: Any) -> str:
    """Return a tool's result as a model reads it: a text unchanged, anything else as JSON."""
    if isinstance(result, str):
        return result
    return msgspec.json.encode(result, enc_hook=str).decode()


def call_now(call: Call, tool_id: str, arguments: Mapping[str, Any], way_out: str) -> Any:
    """Call a tool in a synchronous run, and return its result.

    Raises TypeError where `call` is async; the message ends with `way_out`, how to run it asynchronously.
    """
    result = call(tool_id, arguments)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError(f"the call of {tool_id} is asynchronous: {way_out}")
    return result


async def call_async(call: Call, tool_id: str, arguments: Mapping[str, Any]) -> Any:
    """Call a tool in an asynchronous run, and return its result, awaited where that is needed."""
    result = call(tool_id, arguments)
    return await result if inspect.isawaitable(result) else result
