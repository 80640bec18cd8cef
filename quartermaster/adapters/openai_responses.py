"""OpenAI's Responses API: the tool search that the client executes.

It takes and gives plain dicts, and takes the objects of the package `openai` (`response.output`) as well; it imports no
package of OpenAI's.

    >>> search = ResponsesToolSearch(router, k=5)
    >>> response = client.responses.create(model=model, tools=search.tools, input=items)
    >>> answers = search.answers(response.output, call, history=items)
    >>> items += [*response.output, *answers]  # and again, until there are no answers
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Unpack

from quartermaster.adapters import Call, answer_call, finish_now
from quartermaster.adapters.openai_items import Item, fields_of, names_in
from quartermaster.adapters.tool_search import DESCRIPTION, CalledTool, Searched, ToolSearch
from router.answer.options import SharedOptions
from router.answer.results import RoutedTools
from router.errors import RequestInvalid
from router.provider_formats.formats import ProviderFormat
from router.provider_formats.rendering import in_namespaces, render
from router.query.needs import MAX_NEEDS, clean_need
from router.router import Router

# A search's answer has no place for a sentence, so these follow it in a developer's message. Models give such messages
# authority: none of the sentences quotes the model, a user or a vendor; needs are named by their place.
_REFUSED = (
    "The tool search failed: `request` must say in words what should be done, and `needs` must be a list of at most "
    f"{MAX_NEEDS} texts. Search again."
)
_ALL_LOADED = "The tools that fit best are loaded already. Call one of them, or search in other words."


class ResponsesToolSearch:
    """Answers a model's `tool_search_call` and `function_call` items. It keeps nothing of a dialogue.

    What is loaded already is read from the dialogue's items, so one search serves all dialogues and threads.

    Args:
        description: What the model reads about the search.
        own: The names of functions that you bring yourself: their calls are yours to answer, and no tool of the catalog
            is loaded under these names.
        namespaces: Load found tools in namespaces by provider, in place of plain functions.
        strict: Render tools in strict mode where their schemas have one.
        options: Those of `Router.route`, such as `k` (5 by default) and `token_budget`.
    """

    def __init__(
        self,
        router: Router,
        *,
        description: str = DESCRIPTION,
        own: Collection[str] = (),
        namespaces: bool = False,
        strict: bool = False,
        **options: Unpack[SharedOptions],
    ) -> None:
        self.description = description
        self._router = router
        self._own = (*own,)
        self._namespaces = namespaces
        self._search = ToolSearch(router, ProviderFormat.RESPONSES, options, strict=strict)

    @property
    def tool(self) -> Any:
        """Return the search itself, a dict."""
        search = {"description": self.description, "parameters": self._search.parameters}
        return {"type": "tool_search", "execution": "client", **search}

    @property
    def tools(self) -> list[Any]:
        """Return the tools of every request: the search, and those of the selection's `always`.

        They are the same in every request, so that the prompt cache holds. All are dicts; Any fits the SDK's types.
        """
        always = filter(None, map(self._router.record, self._search.selection.always))
        strict, vendor_text = self._search.strict, self._router.vendor_text
        rendered = render([*always], ProviderFormat.RESPONSES, strict=strict, vendor_text=vendor_text)
        return [self.tool, *(tool for tool in rendered.tools if tool["name"] not in self._own)]

    def answers(self, output: Iterable[Any], call: Call, *, history: Iterable[Any] = ()) -> list[Any]:
        """Return the items that answer a response, to be added behind it; none where the model is done.

        A search is answered by its tools, other calls by `call(tool_id, arguments)`; calls of `own` are left out. The
        model reads what is wrong with an invented tool or with arguments, also where `call` raises RequestInvalid.
        Images stay images: blocks of MCP, alone or in a list.

        Args:
            output: The items of the response.
            call: Calls a tool by its id.
            history: The items of the dialogue so far. Tools that are loaded there are not loaded again.

        Raises:
            Exception: Whatever else `call` raises.
            NothingSelected: No tool is left, and the selection asks for an error then.
            TypeError: `call` is asynchronous, or an item is neither a mapping nor an object of the SDK.
        """
        return finish_now(self._answers(output, call, history, "use answers_async"))

    async def answers_async(self, output: Iterable[Any], call: Call, *, history: Iterable[Any] = ()) -> list[Any]:
        """Return what `answers` does; searches run beside the event loop, and `call` may be async."""
        return await self._answers(output, call, history)

    async def _answers(
        self, output: Iterable[Any], call: Call, history: Iterable[Any], remedy: str | None = None
    ) -> list[Any]:
        loaded = names_in(history) | names_in(self.tools) | {*self._own}
        outputs: list[Item] = []
        messages: list[Item] = []  # behind the outputs: a call's output follows its call
        for item in map(fields_of, output):
            kind, answered = item.get("type"), {"call_id": item.get("call_id")}
            if kind == "tool_search_call" and item.get("execution") != "server":  # without one, it is the client's too
                tools: tuple[Item, ...] = ()
                try:
                    routed = await self._search.found(item.get("arguments"), at_once=remedy is not None)
                except RequestInvalid:
                    status, notes = "incomplete", [_REFUSED]
                else:
                    tools = self._new_tools(routed, loaded)
                    doubt = _unquoted_doubt(routed, item.get("arguments"))
                    status, notes = "completed", [doubt, "" if tools else _ALL_LOADED]
                    if not routed.tools:
                        notes = [routed.nothing]
                    loaded |= names_in(tools)
                found = {"execution": "client", "status": status, "tools": [*tools]}
                outputs.append({"type": "tool_search_output", **answered, **found})
                if text := " ".join(filter(None, notes)):
                    messages.append({"type": "message", "role": "developer", "content": text})
            elif kind == "function_call" and item.get("name") not in self._own:
                name, given = item.get("name"), item.get("arguments")
                answer = await answer_call(self._search, call, name, given, remedy, images=True)
                told = [*map(_content, answer.parts)] or answer.text
                outputs.append({"type": "function_call_output", **answered, "output": told})
        return [*outputs, *messages]

    def _new_tools(self, routed: RoutedTools, loaded: set[str]) -> tuple[Item, ...]:
        """Return the tools of an answer that are not loaded yet."""
        rendered = self._search.render(routed)
        new = replace(rendered, tools=tuple(tool for tool in rendered.tools if tool["name"] not in loaded))
        if not self._namespaces:
            return new.tools
        providers = {tool.tool_id: tool.record.provider for tool in (*routed.always, *routed.tools)}
        return in_namespaces(new, providers, taken=loaded).tools

    def called(self, function_call: Any) -> CalledTool:
        """Return the tool that a `function_call` item calls, with its own arguments.

        Raises what `ToolSearch.called` does: give the message to the model as the output of its call.
        """
        item = fields_of(function_call)
        return self._search.called(item.get("name", ""), item.get("arguments"))


def _content(part: dict[str, Any]) -> dict[str, Any]:
    """Return a text or an image of MCP as the Responses API takes it."""
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    return {"type": "input_image", "detail": "auto", "image_url": f"data:{part['mimeType']};base64,{part['data']}"}


def _unquoted_doubt(routed: RoutedTools, arguments: Any) -> str:
    """Return the doubt of an answer, or which needs of its search no tool fits, by their places in it.

    Empty where a tool fits each.
    """
    needs = Searched.read(arguments).needs
    named = " and ".join(str(place) for place, need in enumerate(needs, 1) if clean_need(need) in routed.uncovered)
    nothing = "Nothing" if routed.calibrated else "Perhaps nothing"
    return routed.doubt or (f"{nothing} fits need {named} of the search." if named else "")
