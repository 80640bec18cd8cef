"""Records as the tools of a provider's request: names, descriptions and schemas that it takes, and the way back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from router.errors import RequestInvalid
from router.forms import strict as strictly
from router.forms.arguments import without_nulls
from router.forms.compact import short_description, short_schema, signature_of
from router.forms.form import TERMS, Detail, Form, chosen
from router.forms.names import legal_name
from router.forms.roots import joined, object_root, plain_parameters
from router.forms.schemas import Schema, valid
from router.record import ToolRecord

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_OPEN: Schema = {"type": "object", "properties": {}}  # never changed, so all signatures may share it
_STRICT = {
    **dict.fromkeys((Form.OPENAI, Form.RESPONSES, Form.LANGCHAIN), strictly.OPENAI),
    Form.ANTHROPIC: strictly.ANTHROPIC,
}


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
                f"no tool was handed over as {name!r}: there are {', '.join(self.names) or 'none'}"
            ) from None

    def arguments(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that the model gave for a tool, as the tool itself takes them: under its own names for them,
        and without the nulls that a strict schema has in the place of what is left out."""
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
    form = chosen(Form, form)
    details = [chosen(Detail, d) for d in ([detail] * len(records) if isinstance(detail, str) else detail)]
    if len(details) != len(records):
        raise ValueError(f"{len(records)} records and {len(details)} details: give one for all, or one a record")
    most = TERMS[form].cap if cap == "provider" else cap
    tools: list[dict[str, Any]] = []
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
            dropped.append(Note(record.tool_id, f"its name, {name}, is that of {names[name]}"))
            continue
        shapes = _Shapes(record)
        closed: Schema | None = None
        if strict:
            try:
                closed = shapes.strict(form, how_much)
                open_schemas[name] = shapes.schema(form, how_much)
            except strictly.NotStrict as reason:
                notes.append(Note(record.tool_id, f"not strict: {reason}"))
        names[name] = record.tool_id
        if renamed := shapes.renamed(form, how_much):
            parameters[name] = renamed
        tools.append(shapes.tool(form, how_much, name, closed))
    return Rendered(form, tuple(tools), names, parameters, open_schemas, tuple(dropped), tuple(notes))


def variants(record: ToolRecord) -> Iterator[tuple[dict[str, Any], Schema]]:
    """A record in every form, and in each in every detail, as `render` gives it without `strict`, and the schema in it.

    What a build counts the tokens of. Equal schemas of a record are one object.
    """
    shapes = _Shapes(record)
    for form in Form:
        name = legal_name(record.tool_id, form)
        for detail in Detail:
            yield shapes.tool(form, detail, name, None), shapes.schema(form, detail)


class _Shapes:
    """What the forms of one record have in common, each made once."""

    def __init__(self, record: ToolRecord) -> None:
        self._record = record
        self._object = object_root(valid(record.input_schema))
        self._joined = joined(self._object)
        self._schemas: dict[tuple[bool, bool, Detail], tuple[Schema, dict[str, str]]] = {}
        self._descriptions: dict[Detail, str] = {}

    def tool(self, form: Form, detail: Detail, name: str, closed: Schema | None) -> dict[str, Any]:
        """The record in a form; `closed` is its strict schema, where it is to be strict."""
        schema = closed or self.schema(form, detail)
        said = self._description(detail)
        named = {"name": name, "description": said} if said else {"name": name}
        strict = {"strict": True} if closed else {}
        if form is Form.OPENAI:
            return {"type": "function", "function": {**named, "parameters": schema, **strict}}
        if form is Form.RESPONSES:
            # Responses is strict unless told otherwise.
            return {"type": "function", **named, "parameters": schema, "strict": bool(closed)}
        if form is Form.ANTHROPIC:
            return {**named, "input_schema": schema, **strict}
        if form is Form.LANGCHAIN:
            return {**named, "parameters": schema, **strict}
        return {**named, **self._title(detail), "inputSchema": schema, **self._annotations(detail)}

    def strict(self, form: Form, detail: Detail) -> Schema:
        """The strict schema. Raises NotStrict."""
        if form not in _STRICT:
            raise strictly.NotStrict(f"{form} has no strict mode")
        if detail is Detail.SIGNATURE:
            raise strictly.NotStrict("a signature leaves the schema open")
        if not self._record.input_schema:
            raise strictly.NotStrict("the record has no schema")
        return strictly.strict(self.schema(form, detail), _STRICT[form])

    def renamed(self, form: Form, detail: Detail) -> dict[str, str]:
        """By new name the old one of each parameter that the form names anew."""
        return self._shaped(form, detail)[1]

    def schema(self, form: Form, detail: Detail) -> Schema:
        """The schema of the parameters."""
        return self._shaped(form, detail)[0]

    def _shaped(self, form: Form, detail: Detail) -> tuple[Schema, dict[str, str]]:
        if detail is Detail.SIGNATURE:
            return _OPEN, {}
        terms = TERMS[form]
        key = (terms.combined_root, terms.plain_parameters, detail)
        if key not in self._schemas:
            root = self._object if terms.combined_root else self._joined
            root, renamed = plain_parameters(root) if terms.plain_parameters else (root, {})
            self._schemas[key] = (short_schema(root) if detail is Detail.SHORT else root), renamed
        return self._schemas[key]

    def _description(self, detail: Detail) -> str:
        if detail is Detail.FULL:
            return self._record.description or ""
        if detail not in self._descriptions:
            short = detail is Detail.SHORT
            said = short_description(self._record) if short else signature_of(self._record, self._joined)
            self._descriptions[detail] = said
        return self._descriptions[detail]

    def _title(self, detail: Detail) -> dict[str, str]:
        title = self._record.annotations.get("title")
        return {"title": title} if isinstance(title, str) and detail is Detail.FULL else {}

    def _annotations(self, detail: Detail) -> dict[str, Any]:
        hints = {hint: value for hint in _HINTS if isinstance(value := self._record.annotations.get(hint), bool)}
        return {"annotations": hints} if hints and detail is not Detail.SIGNATURE else {}
