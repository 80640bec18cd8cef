"""OpenAI's Responses API: the tool search that the client executes.

    >>> search = ResponsesToolSearch(router, k=5)
    >>> response = client.responses.create(model=..., tools=search.tools, input=items)
    >>> answers = search.answers(response.output, call, history=items)
    >>> items += [*response.output, *answers]  # and again, until there are no answers

It takes and gives dicts, and takes the objects of the package `openai`, but does not import it.
"""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Unpack

from router.adapters import Call, as_text
from router.adapters.tool_search import DESCRIPTION, CalledTool, ToolSearch
from router.answer.options import RouteOptions
from router.answer.results import RoutedTools
from router.errors import RequestInvalid, quoted
from router.provider_formats import Form, render
from router.provider_formats.namespaces import in_namespaces
from router.router import Router

Item = Mapping[str, Any]

# A search's answer has no place for a sentence, so these follow it in a developer's message. Models give such messages
# authority: none of the sentences quotes the model, a user or a vendor.
_NO_REQUEST = "The tool search failed: its argument `request` must say in words what should be done. Search again."
_NOTHING = "No tool was found. Search once more in other words, or say that it cannot be done."
_ALL_LOADED = "The tools that fit best are loaded already. Call one of them, or search in other words."


class ResponsesToolSearch:
    """Answers a model's `tool_search_call` and `function_call` items.

    It keeps nothing of a dialogue, so one serves all dialogues and threads. What is loaded already is read from the
    dialogue's own items.
    """

    def __init__(
        self, router: Router, *, namespaces: bool = False, strict: bool = False, **options: Unpack[RouteOptions]
    ) -> None:
        """Keep what searches need.

        Args:
            router: The router that is searched.
            namespaces: Load found tools in namespaces by provider, in place of plain functions.
            strict: Render tools in strict mode where their schemas have one.
            options: Those of `Router.route`, such as `k` (5 by default) and `token_budget`.
        """
        self.search = ToolSearch(router, Form.RESPONSES, options, strict=strict)
        self.namespaces = namespaces

    @cached_property
    def tool(self) -> dict[str, Any]:
        """Return the tool search as the model sees it."""
        return {
            "type": "tool_search",
            "execution": "client",
            "description": DESCRIPTION,
            "parameters": self.search.parameters,
        }

    @property
    def tools(self) -> list[Any]:
        """Return what to pass as `tools`: the search, and the functions that the selection has in every answer.

        They are the same in every request, so that the prompt cache holds. All are dicts; Any fits the SDK's types.
        """
        router = self.search.router
        always = [record for tool_id in self.search.selection.always if (record := router.record(tool_id)) is not None]
        rendered = render(always, Form.RESPONSES, strict=self.search.strict, vendor_text=router.vendor_text)
        return [self.tool, *rendered.tools]

    def answers(self, output: Iterable[Any], call: Call, *, history: Iterable[Any] = ()) -> list[Any]:
        """Return the items that answer a response, to be added behind it; none where the model is done.

        Each search gets its tools, each call the result of `call`. A call that names no tool, or whose arguments are
        broken, is answered with the error, so that the model may try again.

        Args:
            output: The items of the response.
            call: Calls a tool by its id. An exception of it ends the run.
            history: The items of the dialogue so far. Tools that are loaded there are not loaded again.

        Raises:
            NothingSelected: No tool is left, and the selection asks for an error then.
            TypeError: `call` is asynchronous, or an item is neither a mapping nor an object of the SDK.
        """
        turn = _Turn(self, history)
        for item in map(_fields, output):
            if _is_search(item):
                turn.load(item, self._find(item))
            elif item.get("type") == "function_call":
                turn.add_result(item, self._result(item, call))
        return turn.items

    async def answers_async(self, output: Iterable[Any], call: Call, *, history: Iterable[Any] = ()) -> list[Any]:
        """Run `answers` beside the event loop; `call` may be asynchronous."""
        turn = _Turn(self, history)
        for item in map(_fields, output):
            if _is_search(item):
                turn.load(item, await self._find_async(item))
            elif item.get("type") == "function_call":
                turn.add_result(item, await self._result_async(item, call))
        return turn.items

    def answer(self, search_call: Any, *, history: Iterable[Any] = ()) -> list[Any]:
        """Return the `tool_search_output` of one `tool_search_call`, and the message that may have to follow it.

        For loops that call functions in a way of their own. Where a response has several searches, `history` holds the
        answers to those before.
        """
        turn, item = _Turn(self, history), _fields(search_call)
        turn.load(item, self._find(item))
        return turn.items

    def called(self, function_call: Any) -> CalledTool:
        """Return the tool that a `function_call` item calls, with the tool's own arguments.

        Raises:
            RequestInvalid: No tool has the name, it may not be used here, or the arguments are no JSON object. Give the
                message to the model as the output of its call.
        """
        item = _fields(function_call)
        return self.search.called(item.get("name", ""), item.get("arguments"))

    def _find(self, item: Item) -> RoutedTools | None:
        """Return what a search finds; None where it has no request."""
        try:
            return self.search.find(item.get("arguments"))
        except RequestInvalid:
            return None

    async def _find_async(self, item: Item) -> RoutedTools | None:
        try:
            return await self.search.find_async(item.get("arguments"))
        except RequestInvalid:
            return None

    def _result(self, item: Item, call: Call) -> str:
        try:
            called = self.called(item)
        except RequestInvalid as error:
            return str(error)
        result = call(called.tool_id, called.arguments)
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError(f"the call of {called.tool_id} is asynchronous: use answers_async")
        return as_text(result)

    async def _result_async(self, item: Item, call: Call) -> str:
        try:
            called = self.called(item)
        except RequestInvalid as error:
            return str(error)
        result = call(called.tool_id, called.arguments)
        return as_text(await result if inspect.isawaitable(result) else result)


class _Turn:
    """The answers to one response. Messages come last: a call's output follows its call."""

    def __init__(self, search: ResponsesToolSearch, history: Iterable[Any]) -> None:
        self._search = search
        self._loaded = _names(() if isinstance(history, str) else history) | _names(search.tools)
        self._outputs: list[dict[str, Any]] = []
        self._messages: list[dict[str, Any]] = []

    @property
    def items(self) -> list[dict[str, Any]]:
        return [*self._outputs, *self._messages]

    def load(self, search_call: Item, routed: RoutedTools | None) -> None:
        """Add the answer to a search: the found tools that are not loaded yet, and what the model should know."""
        tools = () if routed is None else self._new_tools(routed)
        self._loaded |= _names(tools)
        self._outputs.append(
            {
                "type": "tool_search_output",
                "call_id": search_call.get("call_id"),
                "execution": "client",
                "status": "incomplete" if routed is None else "completed",
                "tools": [*tools],
            }
        )
        if note := _note(routed, tools):
            self._messages.append({"type": "message", "role": "developer", "content": note})

    def add_result(self, function_call: Item, text: str) -> None:
        """Add the result of a call."""
        self._outputs.append({"type": "function_call_output", "call_id": function_call.get("call_id"), "output": text})

    def _new_tools(self, routed: RoutedTools) -> tuple[dict[str, Any], ...]:
        rendered = self._search.search.render(routed)
        new = replace(rendered, tools=tuple(tool for tool in rendered.tools if tool["name"] not in self._loaded))
        if not self._search.namespaces:
            return new.tools
        providers = {tool.tool_id: tool.record.provider for tool in (*routed.always, *routed.tools)}
        return in_namespaces(new, providers, taken=self._loaded).tools


def _note(routed: RoutedTools | None, tools: tuple[dict[str, Any], ...]) -> str:
    """Return what a model should know of a search beyond its tools; an empty text for nothing."""
    if routed is None:
        return _NO_REQUEST
    if not routed.tools:
        return _NOTHING
    return " ".join(filter(None, (routed.doubt, "" if tools else _ALL_LOADED)))


def _names(items: Iterable[Any]) -> set[str]:
    """Return the names of all functions and namespaces among items, and within them."""
    names: set[str] = set()
    for item in map(_fields, items):
        kind = item.get("type")
        if kind in ("function", "custom", "namespace"):
            names.add(item["name"])
        if kind in ("namespace", "tool_search_output", "additional_tools"):
            names |= _names(item.get("tools", ()))
    return names


def _is_search(item: Item) -> bool:
    """Return whether an item is a search that the client answers: one without `execution` is the client's too."""
    return item.get("type") == "tool_search_call" and item.get("execution") != "server"


def _fields(item: Any) -> Item:
    """Return an item as a mapping: it may be one, or an object of the SDK."""
    if isinstance(item, Mapping):
        return item
    if callable(dump := getattr(item, "model_dump", None)):
        fields: Item = dump()
        return fields
    raise TypeError(f"an item is {quoted(item)}: it must be a mapping, or an object of the package openai")
