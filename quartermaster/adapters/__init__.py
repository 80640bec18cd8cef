"""The router in agent frameworks and providers' searches: one module each, imported only by those who have the package.

All take the same arguments by the same names: `router`, then `call`, then by keyword `k`, `capacity`, `token_budget`
and `selection`, as far as they apply.

`call(tool_id, arguments)` is the caller's, and calls a tool. It may be async if the run is. One rule holds everywhere:

- What it returns goes to the model, as JSON unless it is a text.
- RequestInvalid goes to the model as an error of the tool, whether the router or `call` raised it: the tool's name or
  its arguments are wrong, and the model may try again.
- Any other exception is the caller's, and ends the run. Only LlamaIndex catches every exception of a tool, and gives
  its text to the model.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from quartermaster.adapters.tool_search import ToolSearch
from router.answer.results import RoutedTool
from router.errors import RequestInvalid
from router.tools.trust import TrustedRecord

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


async def call_tool(call: Call, tool_id: str, arguments: Mapping[str, Any], remedy: str | None = None) -> Any:
    """Call a tool, and return its result, awaited where that is needed.

    `remedy` is given in a synchronous run. Where its `call` is async, TypeError is raised, which ends with this text.
    """
    result = call(tool_id, arguments)
    if remedy is None or not inspect.isawaitable(result):
        return await result if inspect.isawaitable(result) else result
    if inspect.iscoroutine(result):
        result.close()
    raise TypeError(f"the call of {tool_id} is asynchronous: {remedy}")


class Answer(NamedTuple):
    """What a model reads of its call."""

    text: str
    is_error: bool


async def answer_call(search: ToolSearch, call: Call, name: Any, arguments: Any, remedy: str | None = None) -> Answer:
    """Return the result of a model's call of a tool by name; what RequestInvalid says is an error of the tool.

    `remedy` is that of `call_tool`. Raises whatever else `call` raises.
    """
    try:
        called = search.called(name, arguments)
        result = await call_tool(call, called.tool_id, called.arguments, remedy)
        return Answer(called.text(as_text(result)), False)
    except RequestInvalid as error:
        return Answer(str(error), True)


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


class First(NamedTuple):
    """A tool that must run before another, for a parameter of that."""

    tool_id: str
    needing: str
    parameter: str


def first_tools(tools: Iterable[RoutedTool], shown: Collection[str]) -> Iterator[First]:
    """Yield which of the tools that a model is shown, by id, must run before which."""
    for tool in tools:
        for needing in tool.needed_by:
            if tool.tool_id in shown and needing.tool_id in shown:
                yield First(tool.tool_id, needing.tool_id, needing.parameter)


def withheld_notes(handed: Mapping[str, TrustedRecord]) -> Iterator[str]:
    """Yield what a model reads about text that was left out of tools, which it knows by these names."""
    for name, tool in handed.items():
        if reasons := dict.fromkeys(part.reason for part in tool.withheld):
            yield f"Part of what the vendor of {name} wrote was withheld: {'; '.join(reasons)}."
