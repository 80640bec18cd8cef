"""One record in every form: the parts of the tool, which the forms share, are made once."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from router.provider_formats.compact import short_description, short_schema, signature_of
from router.provider_formats.formats import Detail, Form, ToolParts, VendorText
from router.provider_formats.names import legal_name
from router.provider_formats.roots import merge_combinations, object_root, with_plain_parameters
from router.provider_formats.schemas import Schema, valid_schema
from router.provider_formats.strict import NotStrict, strict_schema
from router.record import Kind, ToolRecord
from router.tools.trust import TrustedRecord, trusted_record

# A model can only call what it is handed: what a skill or a prompt answers is its text.
_LEADS = {Kind.SKILL: "Skill, call it to read how: ", Kind.PROMPT: "Prompt, call it to read it: "}
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class ToolShaper:
    """Makes the tools of one record, by default of its trusted text alone. `handed` says what was withheld.

    Their schemas are copies that a caller may change. Values in them, such as those of an enum or a default, are the
    record's own.
    """

    def __init__(self, record: ToolRecord, vendor_text: VendorText = VendorText.TRUSTED) -> None:
        self.handed = handed_record(record, vendor_text)
        self._record = record = _with_lead(self.handed.record)
        self._object = object_root(valid_schema(record.input_schema))
        self._without_combinations = merge_combinations(self._object)
        self._open_schema: Schema = {"type": "object", "properties": {}}
        self._schemas: dict[tuple[bool, bool, Detail], tuple[Schema, dict[str, str]]] = {}
        self._descriptions: dict[Detail, str] = {}

    def tool(self, form: Form, detail: Detail, name: str, closed: Schema | None) -> dict[str, Any]:
        """Return the record in a form; `closed` is its strict schema, None for a tool that is not strict."""
        description = self._description(detail)
        parts = ToolParts(
            named={"name": name, "description": description} if description else {"name": name},
            schema=closed or self.schema(form, detail),
            is_strict=bool(closed),
            title=self._title(detail),
            hints=self._hints(detail),
        )
        return form.spec.shape(parts)

    def strict_schema(self, form: Form, detail: Detail) -> Schema:
        """Return the strict schema. Raises NotStrict, with the reason, where there is none."""
        limits = form.spec.strict_limits
        if limits is None:
            raise NotStrict(f"{form} has no strict mode")
        if detail is Detail.SIGNATURE:
            raise NotStrict("a signature has no schema to hold it to")
        if not self._record.input_schema:
            raise NotStrict("the record has no schema")
        return strict_schema(self.schema(form, detail), limits)

    def renamed_parameters(self, form: Form, detail: Detail) -> dict[str, str]:
        """Return the old names, by new name, of the parameters that the form renames."""
        return self._shaped(form, detail)[1]

    def schema(self, form: Form, detail: Detail) -> Schema:
        """Return the schema of the parameters."""
        return self._shaped(form, detail)[0]

    def _shaped(self, form: Form, detail: Detail) -> tuple[Schema, dict[str, str]]:
        """Return the schema and the renamed parameters."""
        if detail is Detail.SIGNATURE:
            return self._open_schema, {}
        limits = form.spec.limits
        key = (limits.combined_root, limits.plain_parameters, detail)
        if key not in self._schemas:
            root = self._object if limits.combined_root else self._without_combinations
            root, renamed = with_plain_parameters(root) if limits.plain_parameters else (root, {})
            self._schemas[key] = (short_schema(root) if detail is Detail.SHORT else root), renamed
        return self._schemas[key]

    def _description(self, detail: Detail) -> str:
        if detail is Detail.FULL:
            return self._record.description or ""
        if detail not in self._descriptions:
            is_short = detail is Detail.SHORT
            description = (
                short_description(self._record) if is_short else signature_of(self._record, self._without_combinations)
            )
            self._descriptions[detail] = description
        return self._descriptions[detail]

    def _title(self, detail: Detail) -> str | None:
        title = self._record.annotations.get("title")
        return title if isinstance(title, str) and detail is Detail.FULL else None

    def _hints(self, detail: Detail) -> dict[str, bool]:
        if detail is Detail.SIGNATURE:
            return {}
        return {hint: value for hint in _HINTS if isinstance(value := self._record.annotations.get(hint), bool)}


def _with_lead(record: ToolRecord) -> ToolRecord:
    """Return a record whose description says what a call of it does, where it is no tool."""
    lead = _LEADS.get(record.kind)
    return record if lead is None else replace(record, description=f"{lead}{record.description}".strip())


def handed_record(record: ToolRecord, vendor_text: VendorText) -> TrustedRecord:
    """Return the record that a model is handed, and what was withheld of it."""
    record = record.without_outputs()
    return trusted_record(record) if vendor_text is VendorText.TRUSTED else TrustedRecord(record)


def variants(
    record: ToolRecord, forms: Iterable[Form] | None = None, vendor_text: VendorText = VendorText.TRUSTED
) -> Iterator[tuple[dict[str, Any], Schema]]:
    """Yield a record in each of the forms (all of them for None), and in each form in every detail, with its schema.

    The tools are those of `render` without `strict`. Equal schemas of a record are one object.
    """
    shaper = ToolShaper(record, vendor_text)
    for form in Form if forms is None else forms:
        name = legal_name(record.tool_id, form)
        for detail in Detail:
            yield shaper.tool(form, detail, name, None), shaper.schema(form, detail)
