"""The router in agent frameworks and providers' searches: one module each, imported only by those who have the package.

All take the same arguments by the same names: `router`, then `call`, then by keyword `k`, `capacity`, `token_budget`
and `selection`, as far as they apply.

`call(tool_id, arguments)` is the caller's, and calls a tool. It may be async if the run is. One rule holds everywhere:

- What it returns goes to the model, as JSON unless it is a text.
- RequestInvalid goes to the model as an error of the tool, whether the router or `call` raised it: the tool's name or
  its arguments are wrong, and the model may try again.
- Any other exception is the caller's, and ends the run. LlamaIndex alone catches every exception of a tool by itself,
  and tells its text to the model.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

Call = Callable[[str, Mapping[str, Any]], Any | Awaitable[Any]]


def as_text(result: Any) -> str:
    """Return a tool's result as a model reads it: a text unchanged, anything else as JSON."""
    if isinstance(result, str):
        return result.encode(errors="replace").decode()  # a lone surrogate cannot be sent
    try:
        return msgspec.json.encode(result, enc_hook=_plain).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(result, enc_hook=_plain, str_keys=True))


def _plain(value: Any) -> Any:
    """Return what JSON knows of a value: the fields of a Pydantic model, and the text of anything else."""
    dump = getattr(value, "model_dump", None)
    return str(value) if dump is None or isinstance(value, type) else dump(mode="json")


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
