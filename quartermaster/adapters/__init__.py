"""The router in agent frameworks and providers' searches: one module each, imported only by those who have the package.

All take the same arguments by the same names: `router`, then `call`, then by keyword `k`, `capacity`, `token_budget`
and `selection`, as far as they apply.

`call(tool_id, arguments)` is the caller's, and calls a tool. It may be async if the run is. Everywhere:

- What it returns goes to the model, as JSON unless it is a text. Of more than MAX_RESULT characters the model reads the
  beginning, and how many there are.
- RequestInvalid goes to the model as an error of the tool, whether the router or `call` raised it: the tool's name or
  its arguments are wrong, and the model may try again.
- Any other exception does what one of the framework's own tools does. LlamaIndex, Anthropic's SDK and OpenAI's Agents
  SDK tell the model; LangChain, LangGraph and pydantic-ai end the run, and so does OpenAI's Responses API, whose SDK
  runs no tools.
- Where `call` has a parameter `context`, it gets there what the framework's own tools get of a run.
"""

import inspect
import json
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from quartermaster.adapters.tool_search import ToolSearch
from router.answer.results import RoutedTool
from router.errors import RequestInvalid
from router.tools.trust.trusted import TrustedRecord

Call = Callable[[str, dict[str, Any]], Any]  # or an awaitable; a dict fits a `call` that declares a Mapping, too
_Result = TypeVar("_Result")
# Twice what HTTP calls and the MCP server give: theirs pass whole, with what they say of the rest.
MAX_RESULT = 100_000
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})  # that both providers take
_RESULT = frozenset(  # what MCP's result of a call has, in JSON and in the SDK
    "content isError is_error structuredContent structured_content _meta meta resultType result_type".split()
)
_logger = logging.getLogger(__name__)


def as_text(result: Any) -> str:
    """Return a tool's result as a model reads it: a text unchanged, anything else as JSON.

    Of more than MAX_RESULT characters it is the beginning, below a line that says how many there are.
    """
    if isinstance(result, str):
        text = result.encode(errors="replace").decode()  # a lone surrogate cannot be sent
    else:
        try:
            text = msgspec.json.encode(result, enc_hook=_plain).decode()
        except UnicodeEncodeError:
            text = json.dumps(msgspec.to_builtins(result, enc_hook=_plain, str_keys=True))
    if len(text) <= MAX_RESULT:
        return text
    told = f"The result has {len(text):,} characters; the first {MAX_RESULT:,} follow. Ask for less."
    return f"{told}\n{text[:MAX_RESULT]}"


def _plain(value: Any) -> Any:
    """Return what JSON knows of a value: the fields of a Pydantic model, and the text of anything else."""
    dump = getattr(value, "model_dump", None)
    return str(value) if dump is None or isinstance(value, type) else dump(mode="json")


def media_parts(result: Any) -> list[dict[str, Any]]:
    """Return the texts and images of a tool's result, as blocks of MCP; none where no image is among them.

    A result is an image block, a list of blocks, or a result of MCP's `tools/call`.
    """
    if isinstance(result, str):
        return []
    plain = msgspec.to_builtins(result, enc_hook=_plain, str_keys=True)
    listed = plain["content"] if isinstance(plain, dict) and {"content"} <= plain.keys() <= _RESULT else plain
    parts = [_media_part(part) for part in (listed if isinstance(listed, list) else [listed])]
    if all(part["type"] == "text" for part in parts):
        return []
    return [part for part in parts if part["type"] == "image" or part["text"]]  # Anthropic refuses empty texts


def _media_part(part: Any) -> dict[str, Any]:
    if isinstance(part, dict):
        kind, data = part.get("mimeType", part.get("mime_type")), part.get("data")
        if part.get("type") == "image" and isinstance(kind, str) and kind in _IMAGES and isinstance(data, str):
            return {"type": "image", "mimeType": kind, "data": data}
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            part = part["text"]
    return {"type": "text", "text": as_text(part)}


def with_context(call: Call, context: object) -> Call:
    """Return a `call` that is given the context of a run, where it has a parameter of that name that is still free."""
    if isinstance(call, partial) and "context" in call.keywords:
        return call
    try:
        takes_context = "context" in inspect.signature(call).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return call
    given: Any = call
    return partial(given, context=context) if takes_context else call


class AsynchronousCall(TypeError):
    """Raised in a synchronous run whose `call` is async."""


async def call_tool(call: Call, tool_id: str, arguments: dict[str, Any], remedy: str | None = None) -> Any:
    """Call a tool, and return its result, awaited where that is needed.

    `remedy` is given in a synchronous run. AsynchronousCall, which ends with it, is raised where `call` is async.
    """
    result = call(tool_id, arguments)
    if remedy is None or not inspect.isawaitable(result):
        return await result if inspect.isawaitable(result) else result
    if inspect.iscoroutine(result):
        result.close()
    raise AsynchronousCall(f"the call of {tool_id} is asynchronous: {remedy}")


class Answer(NamedTuple):
    """What a model reads of its call. `parts` are those of `media_parts`, for providers that take images."""

    text: str
    is_error: bool
    parts: Sequence[dict[str, Any]] = ()


async def answer_call(
    search: ToolSearch,
    call: Call,
    name: Any,
    arguments: Any,
    remedy: str | None = None,
    *,
    tells_errors: bool = False,
    images: bool = False,
) -> Answer:
    """Return the result of a model's call of a tool by name; what RequestInvalid says is an error of the tool.

    `remedy` is that of `call_tool`. Whatever else `call` raises is raised; with `tells_errors` it is logged and told.
    """
    try:
        called = search.called(name, arguments)
        try:
            result = await call_tool(call, called.tool_id, called.arguments, remedy)
        except Exception as error:  # of the tool itself
            if not tells_errors or isinstance(error, AsynchronousCall | RequestInvalid):
                raise
            _logger.exception("the call of %s failed", called.tool_id)
            return Answer(as_text(repr(error)), True)
        if images and (parts := media_parts(result)):
            note = [{"type": "text", "text": called.mended}] if called.mended else []
            return Answer("", False, [*parts, *note])
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
