"""One record in every form: the tool as each provider takes it, what the forms have in common made once."""

from collections.abc import Iterator
from typing import Any

from router.provider_formats import strict as strictly
from router.provider_formats.compact import short_description, short_schema, signature_of
from router.provider_formats.form import PROVIDER_LIMITS, Detail, Form
from router.provider_formats.names import legal_name
from router.provider_formats.roots import joined, object_root, plain_parameters
from router.provider_formats.schemas import Schema, valid
from router.record import ToolRecord

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_STRICT = {
    **dict.fromkeys((Form.OPENAI, Form.RESPONSES, Form.LANGCHAIN), strictly.OPENAI),
    Form.ANTHROPIC: strictly.ANTHROPIC,
}


class Shapes:
    """A record's tools. Their schemas are made anew, so that who is handed one may change it; values in them, such as
    those of an enum or a default, are the record's own."""

    def __init__(self, record: ToolRecord) -> None:
        self._record = record
        self._object = object_root(valid(record.input_schema))
        self._joined = joined(self._object)
        self._open: Schema = {"type": "object", "properties": {}}
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
            raise strictly.NotStrict("a signature has no schema to hold it to")
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
            return self._open, {}
        terms = PROVIDER_LIMITS[form]
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


def variants(record: ToolRecord) -> Iterator[tuple[dict[str, Any], Schema]]:
    """A record in every form, and in each in every detail, as `render` gives it without `strict`, and the schema in it.

    What a build counts the tokens of. Equal schemas of a record are one object.
    """
    shapes = Shapes(record)
    for form in Form:
        name = legal_name(record.tool_id, form)
        for detail in Detail:
            yield shapes.tool(form, detail, name, None), shapes.schema(form, detail)
