"""Records → the tools of a provider's request, and a model's calls → tool ids and arguments."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from router.errors import RequestInvalid, SettingsInvalid
from router.provider_formats.formats import Detail, FormName, ProviderFormat, Schema, VendorText, parse_choice
from router.provider_formats.names import legal_name
from router.provider_formats.restoring import without_added_nulls
from router.provider_formats.schemas import free_name
from router.provider_formats.shaping import ToolShaper, signature
from router.provider_formats.strict import NotStrict
from router.record import ToolRecord
from router.tools.arguments import object_of
from router.tools.trust.trusted import WithheldText

# "As a best practice, aim to keep each namespace to fewer than 10 functions" (OpenAI's guide to tool search).
_MAX_FUNCTIONS = 9


@dataclass(frozen=True, slots=True)
class RenderNote:
    """A remark on one tool: why it is not strict, or why it is not among the tools."""

    tool_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """Tools in one provider format, in the order of their records.

    Attributes:
        form: The provider format.
        tools: The definitions, for the provider's client. All are dicts; Any fits the types of every SDK.
        names: The tool's id by the name that the provider knows.
        parameters: By the same name, the tool's own names of parameters by new ones, where the provider refuses those.
        strict: By the same name, the schemas of strict tools before they were made strict.
        dropped: The tools that were left out, such as those past the provider's cap.
        notes: Which tools could not be made strict, and why.
        withheld: By tool id, the vendor's text that was left out, and why: steering text and hidden characters.
    """

    form: ProviderFormat
    tools: tuple[Any, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Mapping[str, str]] = field(default_factory=dict)
    strict: dict[str, Schema] = field(default_factory=dict)
    dropped: tuple[RenderNote, ...] = ()
    notes: tuple[RenderNote, ...] = ()
    withheld: dict[str, tuple[WithheldText, ...]] = field(default_factory=dict)

    def tool_id(self, name: str) -> str:
        """Return the id of the tool that the model calls by this name.

        Raises:
            RequestInvalid: No tool of this answer has the name.
        """
        if name not in self.names:
            known = ", ".join(self.names) or "none"
            raise RequestInvalid(f"no tool of this answer is called {name!r}: there are {known}")
        return self.names[name]

    def arguments(self, name: str, given: Any) -> dict[str, Any]:
        """Return the arguments that a model gave for a tool, as the tool itself takes them.

        They may be an object, the JSON text of one, or nothing at all. What is returned has the tool's own names, and
        no nulls that a strict schema requires for properties left out.

        Raises:
            RequestInvalid: No tool of this answer has the name, or the value is no object.
        """
        self.tool_id(name)
        given = object_of(given, name)
        if (schema := self.strict.get(name)) is not None:
            given = without_added_nulls(given, schema)
        old = self.parameters.get(name, {})
        return {old.get(parameter, parameter): value for parameter, value in given.items()}


def render(
    records: Sequence[ToolRecord],
    form: ProviderFormat | FormName,
    *,
    detail: Detail | str | Sequence[Detail | str] = Detail.FULL,
    strict: bool = False,
    defer_loading: bool | Collection[str] = False,
    cap: int | Literal["provider"] | None = "provider",
    vendor_text: VendorText | str = VendorText.TRUSTED,
) -> Rendered:
    """Return records as tools of a form, each record once. `detail` is one for all, or one for each record.

    `strict` asks for the provider's strict mode: a tool whose schema has no strict form stays as it is, with a note.
    `defer_loading` marks tools as deferred, for the provider's own tool search to load when the model asks for them:
    all, or those whose ids it has.
    `cap` is the greatest number of tools, the provider's own by default, None for any number. `vendor_text` "verbatim"
    hands over all that vendors wrote; "trusted" withholds steering text, and drops a tool that cannot be called without
    it. No record is changed.

    Raises SettingsInvalid for an unknown form or detail, or a form without deferred tools; ValueError where the number
    of details is another than that of the records.
    """
    form, vendor_text = parse_choice(ProviderFormat, form), parse_choice(VendorText, vendor_text)
    if defer_loading and not form.spec.deferrable:
        able = ", ".join(other for other in ProviderFormat if other.spec.deferrable)
        raise SettingsInvalid(f"form {form} has no deferred tools: leave defer_loading out, or choose from {able}")
    details = [parse_choice(Detail, d) for d in ([detail] * len(records) if isinstance(detail, str) else detail)]
    if len(details) != len(records):
        raise ValueError(f"{len(records)} records and {len(details)} details: give one for all, or one for each record")
    most = form.spec.cap if cap == "provider" else cap
    taken: Counter[str] = Counter()  # of what the strict mode takes in one request
    rendered = Rendered(form)
    tools: list[dict[str, Any]] = []
    dropped: list[RenderNote] = []
    notes: list[RenderNote] = []
    for record, its_detail in zip(records, details, strict=True):
        tool_id, name = record.tool_id, legal_name(record.tool_id, form)
        if rendered.names.get(name) == tool_id:
            continue
        if most is not None and len(tools) >= most:
            dropped.append(RenderNote(tool_id, f"{form} takes at most {most} tools"))
            continue
        if name in rendered.names:
            dropped.append(RenderNote(tool_id, f"its name {name} is already that of {rendered.names[name]}"))
            continue
        shaper = ToolShaper(record, vendor_text)
        if shaper.handed.withheld:
            rendered.withheld[tool_id] = shaper.handed.withheld
        if shaper.handed.unusable:
            dropped.append(RenderNote(tool_id, shaper.handed.unusable))
            continue
        schema, renamed = shaper.schema(form, its_detail)
        closed: Schema | None = None
        if strict:
            try:
                closed = shaper.strict_schema(form, its_detail, taken)
                rendered.strict[name] = schema
            except NotStrict as why_not:
                notes.append(RenderNote(tool_id, f"not strict: {why_not}"))
        rendered.names[name] = tool_id
        if renamed:
            rendered.parameters[name] = renamed
        tool = shaper.tool(form, its_detail, name, closed)
        is_deferred = defer_loading if isinstance(defer_loading, bool) else tool_id in defer_loading
        tools.append({**tool, "defer_loading": True} if is_deferred else tool)
    return replace(rendered, tools=tuple(tools), dropped=tuple(dropped), notes=tuple(notes))


def in_namespaces(rendered: Rendered, providers: Mapping[str, str | None], *, taken: Collection[str] = ()) -> Rendered:
    """Return tools of OpenAI's Responses API in namespaces of at most nine functions, one or more a provider.

    A namespace is `{"type": "namespace", "name", "description", "tools"}`. A function keeps its whole name, so that
    `tool_id` and `arguments` work as before, whatever namespace a call names. A namespace's description names its
    functions: before a search, the model sees nothing else of them. Tools without a provider stay functions and come
    last.

    Args:
        rendered: Tools in the form "responses".
        providers: The provider of each tool by its id.
        taken: Names that no namespace may get, since OpenAI refuses a name that comes twice in one dialogue.

    Raises:
        SettingsInvalid: The tools are in another form.
    """
    if rendered.form is not ProviderFormat.RESPONSES:
        raise SettingsInvalid(f"form {rendered.form} has no namespaces: render the tools as {ProviderFormat.RESPONSES}")
    groups: dict[str | None, list[dict[str, Any]]] = {}
    for tool in rendered.tools:
        groups.setdefault(providers.get(rendered.names[tool["name"]]), []).append(tool)
    loose = groups.pop(None, [])
    # OpenAI reserves the namespace of a deferred function's own name.
    names = {*taken, *rendered.names}
    namespaces = []
    for provider, tools in groups.items():
        parts = -(-len(tools) // _MAX_FUNCTIONS)  # as few as possible, whose sizes differ by one at most
        for part in range(parts):
            functions = tools[part * len(tools) // parts : (part + 1) * len(tools) // parts]
            name = free_name(legal_name(provider or "tools", rendered.form), names, rendered.form.spec.length)
            names.add(name)
            # All are legal names: none of them can hold a sentence.
            listed = ", ".join(tool["name"].partition("__")[2] or tool["name"] for tool in functions)
            namespace = {"type": "namespace", "name": name, "description": f"{name}: {listed}", "tools": functions}
            namespaces.append(namespace)
    return replace(rendered, tools=(*namespaces, *loose))


def listed_row(record: ToolRecord, detail: Detail, schema_key: str) -> dict[str, Any]:
    """Return a screened record's signature, or its description and, under `schema_key`, its JSON Schema."""
    if detail is Detail.SIGNATURE:
        return {"signature": signature(record, VendorText.VERBATIM)}
    (tool,) = render([record], ProviderFormat.MCP, detail=detail, vendor_text=VendorText.VERBATIM).tools
    return {"description": tool.get("description", ""), schema_key: tool["inputSchema"]}


def listed_line(row: Mapping[str, Any], first: Iterable[str]) -> str:
    """Return a row for a model to read, and below it what must run first, a line each."""
    shown = {name: value for name, value in row.items() if name != "first"}
    line = row["signature"] if "signature" in row else compact_json(shown)
    return "\n".join([line, *(f"  first: {one}" for one in first)])


def compact_json(value: Any) -> str:
    """Return JSON without spaces, whose letters stay readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
