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
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec

Call = Callable[[str, Mapping[str, Any]], Any | Awaitable[Any]]
_Result = TypeVar("_Result")


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


async def call_tool(call: Call, tool_id: str, arguments: Mapping[str, Any], way_out: str | None = None) -> Any:
    """Call a tool, and return its result, awaited where that is needed.

    Raises TypeError in a synchronous run whose `call` is async: the message ends with `way_out`, how to run it else.
    """
    result = call(tool_id, arguments)
    if way_out is None or not inspect.isawaitable(result):
        return await result if inspect.isawaitable(result) else result
    if inspect.iscoroutine(result):
        result.close()
    raise TypeError(f"the call of {tool_id} is asynchronous: {way_out}")


def finish_now(steps: Coroutine[Any, Any, _Result]) -> _Result:
    """Return the result of steps that wait for nothing, as in a synchronous run: they are written once for both."""
    try:
        steps.send(None)
    except StopIteration as done:
        result: _Result = done.value
        return result
    finally:
        steps.close()
    raise RuntimeError("a step of a synchronous run waits")
