"""The search that a model asks for by itself, whichever provider or framework carries it: arguments in, tools out.

What models read about a search stands here, once for all searches.

>>> search = ToolSearch(router, "responses", {"k": 5})
>>> search.render(search.find({"request": "give half of it back", "needs": ["refund a part of a charge"]})).tools
>>> search.called("stripe__createRefund", {"charge": "ch_1"})
CalledTool(tool_id='stripe/createRefund', arguments={'charge': 'ch_1'}, mended='')
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from router.answer.options import CheckedOptions, SharedOptions
from router.answer.results import RoutedTools
from router.errors import RequestInvalid, quoted
from router.provider_formats.formats import FormName, ProviderFormat, parse_choice
from router.provider_formats.rendering import Rendered, render
from router.record import ToolRecord
from router.router import Router
from router.selection.admission import refusal_reason
from router.selection.settings import Selection
from router.tools.arguments import mend_arguments, object_of, take_arguments
from router.typed import converted

NAME = "search_tools"
PURPOSE = (
    "Search the tools that are not listed here, and load those that fit. Search before you say that something cannot "
    "be done, and again when the task changes."
)
STATE_NEEDS = (
    "First work out which calls the request takes, also lookups that it leaves unsaid. Write what each does into "
    "`needs`, in plain words, no tool names. Mail Ann the report: ['find a contact by name', 'find a file by title', "
    "'send an email with an attachment']."
)
DESCRIPTION = f"{PURPOSE} {STATE_NEEDS}"
_SCHEMA_WORDS = ("type", "description", "enum", "items", "default")


class Searched(msgspec.Struct, frozen=True):
    """A search: what a model says in it. Both are required, so that models fill them; `read` takes a call without."""

    request: Annotated[str, Meta(description="What should be done, in everyday words.")]
    needs: Annotated[tuple[str, ...], Meta(description="What you expect to call, a line each, in order; at least one.")]

    @classmethod
    def read(cls, arguments: Any) -> "Searched":
        """Return a model's search. Raises RequestInvalid where the arguments hold no request, or needs are no texts."""
        given = with_needs(object_of(arguments))
        request = given.get("request")
        if not isinstance(request, str) or not request.strip():
            raise RequestInvalid(f"request is {quoted(request)}: say in words what should be done")
        return take_arguments(lambda taken: converted(taken, cls, error=RequestInvalid), schema_of(cls), given)[0]


def with_needs(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's arguments with `needs`: an empty list where they have none."""
    return {**arguments, "needs": arguments.get("needs") or ()}


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments in the fewest tokens: bounds and nulls are for the check alone."""
    _, components = msgspec.json.schema_components([kind])
    (schema,) = components.values()
    properties = {}
    for name, declared in schema["properties"].items():
        declared = declared.get("anyOf", [declared])[0] | {"default": declared.get("default")}
        properties[name] = {word: said for word, said in declared.items() if word in _SCHEMA_WORDS and said}
    return {"type": "object", "properties": properties, "required": schema["required"], "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A model's call in the catalog's own terms: the tool's id, and arguments with the tool's own names.

    `mended` says what was done to arguments that did not fit the tool's schema, for the model; empty where they did.
    """

    tool_id: str
    arguments: dict[str, Any]
    mended: str = ""

    def text(self, result: str) -> str:
        """Return what a model reads of the call: its result, and what was mended, if anything."""
        return f"{result}\n{self.mended}" if self.mended else result


class ToolSearch:
    """A search in one provider format. It keeps nothing of a dialogue, so one serves all dialogues and threads.

    `options` are those of `Router.route`, such as `k` (5 by default) and `token_budget`. `strict` renders found tools
    in the provider's strict mode where their schemas have one.

    Raises:
        RequestInvalid, SettingsInvalid: An option is out of its range. A search would blame the model's request for it.
        TypeError: An option is unknown.
    """

    def __init__(
        self, router: Router, form: ProviderFormat | FormName, options: SharedOptions, *, strict: bool = False
    ) -> None:
        self.router = router
        self.form = parse_choice(ProviderFormat, form)
        self.strict = strict
        self._options: SharedOptions = {"k": 5, **options, "form": self.form}
        CheckedOptions.of(self._options, CheckedOptions())

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Return the JSON Schema of the search's arguments, which the strict modes of all providers accept."""
        return schema_of(Searched)

    def find(self, arguments: Any) -> RoutedTools:
        """Return the tools that fit a model's search: arguments as an object, or as the JSON text of one.

        Raises:
            RequestInvalid: The arguments are no object with a request, the request is empty, or needs are too many.
        """
        search = Searched.read(arguments)
        return self.router.route(search.request, needs=search.needs or None, **self._options)

    async def found(self, arguments: Any, *, at_once: bool = False) -> RoutedTools:
        """Return what `find` does, which runs beside the event loop unless `at_once`."""
        if at_once:
            return self.find(arguments)
        search = Searched.read(arguments)
        return await self.router.route_async(search.request, needs=search.needs or None, **self._options)

    def render(self, routed: RoutedTools) -> Rendered:
        """Return found tools in the provider's format."""
        return routed.render(self.form, strict=self.strict)

    def found_names(self, routed: RoutedTools) -> dict[str, Any]:
        """Return what a model reads where the tools that it found are listed from its next turn on."""
        found, note = {"found": list(self.render(routed).names)}, routed.doubt or routed.gaps
        note = note if routed.tools else routed.nothing
        return {**found, "note": note} if note else found

    def called(self, name: str, arguments: Any) -> CalledTool:
        """Return the tool that a model calls by its name in the provider's format, with the tool's own arguments.

        Any tool that the router's selection admits may be called, whether this search found it or an earlier one did.

        Raises:
            RequestInvalid: No tool has the name, it may not be used here, or the arguments are no object.
        """
        tool_id = self.router.tool_id_of(name) if isinstance(name, str) else None
        record = None if tool_id is None else self.router.record(tool_id)
        if record is None:
            raise RequestInvalid(f"there is no tool {quoted(name)}: search for tools, and call them by the names found")
        if refused := refusal_reason(self.selection, record):
            raise RequestInvalid(f"{record.tool_id} may not be used here: {refused}")
        rendered = render([record], self.form, strict=self.strict, cap=None, vendor_text=self.router.vendor_text)
        if rendered.dropped:
            raise RequestInvalid(f"{record.tool_id} may not be used here: {rendered.dropped[0].reason}")
        return called_tool(rendered, record, name, arguments)

    @property
    def selection(self) -> Selection:
        """Return the selection of this search: that of its options, by default the router's."""
        return self._options.get("selection") or self.router.selection


def known_id(router: Router, name: str) -> str | None:
    """Return the id of the tool that a model knows by a name, or that is named so itself; None where there is none."""
    return router.tool_id_of(name) or (name if router.record(name) else None)


def called_tool(rendered: Rendered, record: ToolRecord, name: str, arguments: Any) -> CalledTool:
    """Return a model's call of a rendered tool, its arguments mended by the tool's own schema, which they must fit.

    Raises RequestInvalid where they are no object.
    """
    mended, told = mend_arguments(record.input_schema, rendered.arguments(name, arguments))
    return CalledTool(record.tool_id, dict(mended), told)
