"""Anthropic's Messages API: a client tool that searches, whose results load deferred tools by `tool_reference`.

It takes and gives plain dicts, and takes the SDK's objects (`message.content`) as well; it imports no SDK.

    >>> search = AnthropicToolSearch(router, k=5)
    >>> reply = client.messages.create(model=model, max_tokens=1024, messages=messages, tools=search.tools(messages))
    >>> messages.append({"role": "assistant", "content": reply.content})
    >>> messages.append({"role": "user", "content": search.answers(reply.content, call)})  # unless empty
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Unpack

from quartermaster.adapters import Call, answer_call, finish_now
from quartermaster.adapters.tool_search import DESCRIPTION, NAME, CalledTool, ToolSearch
from router.answer.options import SharedOptions
from router.answer.results import RoutedTools
from router.errors import RequestInvalid, SettingsInvalid, quoted
from router.provider_formats.formats import Detail, ProviderFormat, parse_choice
from router.provider_formats.rendering import render
from router.record import ToolRecord
from router.router import Router
from router.selection.admission import admitted

MOST_TOOLS = 10_000  # of one request, https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
GONE = "This tool is gone and cannot be called. Search for another one."
_NAME = re.compile("[a-zA-Z0-9_-]{1,128}")


class AnthropicToolSearch:
    """Answers a model's `tool_use` blocks. It keeps nothing of a dialogue.

    What is loaded already is read from the dialogue's messages, so one search serves all dialogues and threads. The
    tools of the selection's `always` are loaded from the start, every other tool when a search has found it.

    Args:
        name: The name of the search.
        description: What the model reads about the search.
        own: The names of tools that you bring yourself: their calls are yours to answer, and no tool of the catalog is
            offered under these names.
        strict: Render tools in strict mode where their schemas have one.
        options: Those of `Router.route`, such as `k` (5 by default) and `token_budget`. A found tool is sent alike at
            every turn, so a budget leaves tools out and shortens none.

    Raises:
        SettingsInvalid: `shorten` is true, or Anthropic does not take the name.
    """

    def __init__(
        self,
        router: Router,
        *,
        name: str = NAME,
        description: str = DESCRIPTION,
        own: Collection[str] = (),
        strict: bool = False,
        **options: Unpack[SharedOptions],
    ) -> None:
        if options.get("shorten"):
            raise SettingsInvalid("shorten is true: a found tool is sent alike at every turn, give `detail` instead")
        if not _NAME.fullmatch(name):
            raise SettingsInvalid(f"name is {quoted(name)}, it must be 1 to 128 of A-Z, a-z, 0-9, _ and -")
        self.name = name
        self.description = description
        self._router = router
        self._taken = (name, *own)  # a model's name may be any JSON, also what no set takes
        self._detail = parse_choice(Detail, options.get("detail", Detail.FULL))
        self._search = ToolSearch(router, ProviderFormat.ANTHROPIC, {**options, "shorten": False}, strict=strict)

    @property
    def tool(self) -> Any:
        """Return the search itself, a dict. It is never deferred."""
        return {"name": self.name, "description": self.description, "input_schema": self._search.parameters}

    def tools(self, messages: Iterable[Any]) -> list[Any]:
        """Return the tools of the next request: the search, those always loaded, and those found so far, deferred.

        `messages` are those of the request; their content may be the SDK's objects. Deferred tools do not belong to the
        prompt's prefix, so one more keeps the prompt cache. A found tool that the catalog lost or the selection now
        refuses stays, and says so: the API refuses a dialogue with a reference to a tool that the request lacks.
        """
        references = self._references(messages)
        ids = filter(None, map(self._router.tool_id_of, references))
        return [self.tool, *self._definitions([*filter(None, map(self._router.record, ids))], references)]

    def catalog(self, messages: Iterable[Any] = ()) -> list[Any]:
        """Return every tool that may be used, deferred except for those always loaded: for Anthropic's own search.

        Renders the whole catalog, so keep the result while it and the selection stay the same. Raises SettingsInvalid
        for more tools than one request takes.
        """
        tools = self._definitions(list(self._router.tools), self._references(messages))
        if len(tools) > MOST_TOOLS:
            raise SettingsInvalid(
                f"the catalog has {len(tools):,} tools, a request takes {MOST_TOOLS:,}: narrow the selection, or send "
                "`tools(messages)`, which holds only those found"
            )
        return tools

    def answers(self, content: Iterable[Any], call: Call) -> list[Any]:
        """Return a `tool_result` for each call in the content of the model's message; none where the model is done.

        A search is answered by references, other calls by `call(tool_id, arguments)`; calls of `own` are left out. The
        model reads what is wrong with an invented tool or with arguments, and what `call` raises, as by the tool runner
        of Anthropic's SDK; that is logged, unless it is RequestInvalid. Images stay images: blocks of MCP, alone or in
        a list. The list opens the next user message: the API takes a text only after the last `tool_result`.

        All are dicts; Any fits the SDK's types.

        Raises:
            NothingSelected: No tool is left, and the selection asks for an error then.
            TypeError: `call` is asynchronous.
        """
        return finish_now(self._answers(content, call, "use answers_async"))

    async def answers_async(self, content: Iterable[Any], call: Call) -> list[Any]:
        """Return what `answers` does; searches run beside the event loop, and `call` may be async."""
        return await self._answers(content, call)

    async def _answers(self, content: Iterable[Any], call: Call, remedy: str | None = None) -> list[dict[str, Any]]:
        results = []
        for block in _blocks(content):
            name, given = _field(block, "name"), _field(block, "input")
            if _field(block, "type") != "tool_use" or _field(block, "toolset_name"):  # a toolset of Anthropic's
                continue
            answer: str | list[dict[str, Any]]
            if name == self.name:
                try:
                    answer, is_error = self._found(await self._search.found(given, at_once=remedy is not None)), False
                except RequestInvalid as error:
                    answer, is_error = str(error), True
            elif name in self._taken:
                continue
            else:
                told = await answer_call(self._search, call, name, given, remedy, tells_errors=True, images=True)
                answer, is_error = [*map(_block, told.parts)] or told.text, told.is_error
            result = {"type": "tool_result", "tool_use_id": _field(block, "id"), "content": answer}
            results.append({**result, "is_error": True} if is_error else result)
        return results

    def called(self, tool_use: Any) -> CalledTool:
        """Return the tool that a `tool_use` block calls, with its own arguments. Raises as `ToolSearch.called`."""
        return self._search.called(_field(tool_use, "name"), _field(tool_use, "input"))

    def _found(self, routed: RoutedTools) -> list[dict[str, Any]] | str:
        """Return references to the tools of an answer; a text where there is none, as the API takes no mixture."""
        always = {tool.tool_id for tool in routed.always}  # loaded already
        references = [
            {"type": "tool_reference", "tool_name": name}
            for name, tool_id in self._search.render(routed).names.items()
            if tool_id not in always and name not in self._taken
        ]
        return references or routed.nothing

    def _definitions(self, records: list[ToolRecord], references: list[str]) -> list[dict[str, Any]]:
        """Return the tools always loaded, then the deferred ones: of the records that may be used, and those gone.

        A tool that was found stays deferred if a reload makes it one of the first: the prompt's prefix stays.
        """
        selection = self._search.selection
        rendered = render(
            [*filter(None, map(self._router.record, selection.always)), *admitted(selection, records)],
            ProviderFormat.ANTHROPIC,
            detail=self._detail,
            strict=self._search.strict,
            cap=None,
            vendor_text=self._router.vendor_text,
        )
        by_name = {tool["name"]: tool for tool in rendered.tools if tool["name"] not in self._taken}
        nothing = {"type": "object", "properties": {}}
        gone = {n: {"name": n, "description": GONE, "input_schema": nothing} for n in references if n not in by_name}
        loaded = {name for name in by_name if rendered.tool_id(name) in selection.always and name not in references}
        return [
            tool if name in loaded else {**tool, "defer_loading": True} for name, tool in {**by_name, **gone}.items()
        ]

    def _references(self, messages: Iterable[Any]) -> list[str]:
        """Return the names that `tool_reference` blocks of the messages load, each once, the earliest first."""
        names: list[Any] = []
        for block in (block for message in messages for block in _blocks(_field(message, "content"))):
            content = _field(block, "content")
            if _field(block, "type") == "tool_search_tool_result":  # of Anthropic's own search
                content = _field(content, "tool_references")
            elif _field(block, "type") != "tool_result":
                continue
            names += [_field(one, "tool_name") for one in _blocks(content) if _field(one, "type") == "tool_reference"]
        return list(dict.fromkeys(name for name in names if isinstance(name, str) and name not in self._taken))


def _block(part: dict[str, Any]) -> dict[str, Any]:
    """Return a text or an image of MCP as Anthropic takes it."""
    if part["type"] == "text":
        return part
    return {"type": "image", "source": {"type": "base64", "media_type": part["mimeType"], "data": part["data"]}}


def _blocks(content: Any) -> Iterable[Any]:
    """Return the blocks of a content; a text has none."""
    return () if content is None or isinstance(content, str) else content


def _field(block: Any, name: str) -> Any:
    """Return a field of a block, which is a dict or an object of the SDK; None where it has none."""
    return block.get(name) if isinstance(block, Mapping) else getattr(block, name, None)
