"""Records as the tools of a provider's request: names, descriptions and schemas that it takes, and the way back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from router.errors import RequestInvalid
from router.provider_formats.arguments import without_nulls
from router.provider_formats.formats import Detail, Form, parse_choice
from router.provider_formats.names import legal_name
from router.provider_formats.schemas import Schema
from router.provider_formats.shaping import Shapes
from router.provider_formats.strict import NotStrict, Quota
from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class Note:
    """What should be known of one tool: why it is not strict, or why it is not among the tools."""

    tool_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """Tools in one form, in the order of their records.

    `names` leads from the name that the provider knows to the tool's id. Likewise by the tool's name: `parameters` has
    the new names and the old of parameters whose names the provider refuses, `strict` the schema, before it was made
    strict, of each tool that is. `dropped` are the tools past the provider's cap; `notes` say what else could not be as
    it was asked for.
    """

    form: Form
    tools: tuple[dict[str, Any], ...]
    names: Mapping[str, str]
    parameters: Mapping[str, Mapping[str, str]]
    strict: Mapping[str, Schema]
    dropped: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()

    def tool_id(self, name: str) -> str:
        """The id of the tool that the model calls by this name. Raises RequestInvalid where none was handed over."""
        try:
            return self.names[name]
        except KeyError:
            raise RequestInvalid(
                f"no tool of this answer is called {name!r}: there are {', '.join(self.names) or 'none'}"
            ) from None

    def arguments(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that the model gave for a tool, as the tool itself takes them: under its own names for them,
        and without the nulls that a strict schema has in the place of what is left out. Raises RequestInvalid where no
        tool of that name was handed over, and for what is no dict."""
        self.tool_id(name)
        if not isinstance(given, Mapping):
            kind = "None" if given is None else type(given).__name__
            raise RequestInvalid(f"{name}: the arguments are {kind}, not a dict: `json.loads` makes one of a text")
        if (schema := self.strict.get(name)) is not None:
            given = without_nulls(given, schema, schema)
        old = self.parameters.get(name, {})
        return {old.get(parameter, parameter): value for parameter, value in given.items()}


def render(
    records: Sequence[ToolRecord],
    form: Form | str,
    *,
    detail: Detail | str | Sequence[Detail | str] = Detail.FULL,
    strict: bool = False,
    cap: int | Literal["provider"] | None = "provider",
) -> Rendered:
    """Records as tools of a form, each record once; `detail` is one for all or one a record.

    `strict` asks for the provider's strict mode: a tool whose schema has no strict form is handed over as it is, with a
    note. `cap` is the most tools, the provider's own by default, None for no limit. No record is changed.
    Raises SettingsInvalid for a form or detail that there is not, ValueError where not each record has a detail.
    """
    form = parse_choice(Form, form)
    details = [parse_choice(Detail, d) for d in ([detail] * len(records) if isinstance(detail, str) else detail)]
    if len(details) != len(records):
        raise ValueError(f"{len(records)} records and {len(details)} details: give one for all, or one for each record")
    most = form.spec.limits.cap if cap == "provider" else cap
    tools: list[dict[str, Any]] = []
    request_limits = form.spec.strict_limits.request if form.spec.strict_limits else None
    quota = Quota(request_limits) if request_limits else None
    names: dict[str, str] = {}
    parameters: dict[str, Mapping[str, str]] = {}
    open_schemas: dict[str, Schema] = {}
    dropped: list[Note] = []
    notes: list[Note] = []
    for record, how_much in zip(records, details, strict=True):
        name = legal_name(record.tool_id, form)
        if names.get(name) == record.tool_id:
            continue
        if most is not None and len(tools) >= most:
            dropped.append(Note(record.tool_id, f"{form} takes at most {most} tools"))
            continue
        if name in names:
            dropped.append(Note(record.tool_id, f"its name {name} is already that of {names[name]}"))
            continue
        shapes = Shapes(record)
        closed, why_not = _strict(shapes, form, how_much, quota) if strict else (None, "")
        if closed is not None:
            open_schemas[name] = shapes.schema(form, how_much)
        if why_not:
            notes.append(Note(record.tool_id, f"not strict: {why_not}"))
        names[name] = record.tool_id
        if renamed := shapes.renamed(form, how_much):
            parameters[name] = renamed
        tools.append(shapes.tool(form, how_much, name, closed))
    return Rendered(form, tuple(tools), names, parameters, open_schemas, tuple(dropped), tuple(notes))


def _strict(shapes: Shapes, form: Form, detail: Detail, quota: Quota | None) -> tuple[Schema | None, str]:
    """The strict schema, or why there is none."""
    try:
        closed = shapes.strict(form, detail)
        if quota is not None:
            quota.take(closed)
    except NotStrict as reason:
        return None, str(reason)
    return closed, ""
