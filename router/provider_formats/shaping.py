"""One record in every form: the tool as each provider takes it, what the forms have in common made once."""

from collections.abc import Iterable, Iterator
from typing import Any

from router.provider_formats.compact import short_description, short_schema, signature_of
from router.provider_formats.formats import Detail, Form, ToolParts
from router.provider_formats.names import legal_name
from router.provider_formats.roots import joined, object_root, plain_parameters
from router.provider_formats.schemas import Schema, valid
from router.provider_formats.strict import NotStrict, strict
from router.record import ToolRecord

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


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
        description = self._description(detail)
        parts = ToolParts(
            named={"name": name, "description": description} if description else {"name": name},
            schema=closed or self.schema(form, detail),
            is_strict=bool(closed),
            title=self._title(detail),
            hints=self._hints(detail),
        )
        return form.spec.shape(parts)

    def strict(self, form: Form, detail: Detail) -> Schema:
        """The strict schema. Raises NotStrict."""
        limits = form.spec.strict_limits
        if limits is None:
            raise NotStrict(f"{form} has no strict mode")
        if detail is Detail.SIGNATURE:
            raise NotStrict("a signature has no schema to hold it to")
        if not self._record.input_schema:
            raise NotStrict("the record has no schema")
        return strict(self.schema(form, detail), limits)

    def renamed(self, form: Form, detail: Detail) -> dict[str, str]:
        """By new name the old one of each parameter that the form names anew."""
        return self._shaped(form, detail)[1]

    def schema(self, form: Form, detail: Detail) -> Schema:
        """The schema of the parameters."""
        return self._shaped(form, detail)[0]

    def _shaped(self, form: Form, detail: Detail) -> tuple[Schema, dict[str, str]]:
        if detail is Detail.SIGNATURE:
            return self._open, {}
        limits = form.spec.limits
        key = (limits.combined_root, limits.plain_parameters, detail)
        if key not in self._schemas:
            root = self._object if limits.combined_root else self._joined
            root, renamed = plain_parameters(root) if limits.plain_parameters else (root, {})
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

    def _title(self, detail: Detail) -> str | None:
        title = self._record.annotations.get("title")
        return title if isinstance(title, str) and detail is Detail.FULL else None

    def _hints(self, detail: Detail) -> dict[str, bool]:
        if detail is Detail.SIGNATURE:
            return {}
        return {hint: value for hint in _HINTS if isinstance(value := self._record.annotations.get(hint), bool)}


def variants(record: ToolRecord, forms: Iterable[Form] | None = None) -> Iterator[tuple[dict[str, Any], Schema]]:
    """Yield a record in each of the forms (all of them for None), and in each form in every detail, with its schema.

    The tools are those of `render` without `strict`. Equal schemas of a record are one object.
    """
    shapes = Shapes(record)
    for form in Form if forms is None else forms:
        name = legal_name(record.tool_id, form)
        for detail in Detail:
            yield shapes.tool(form, detail, name, None), shapes.schema(form, detail)
