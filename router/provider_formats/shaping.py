"""One record in every form: the parts of a tool, which the forms share, and its shorter forms.

A shorter tool has its descriptions cut to a sentence and a schema without prose, or a signature of one line.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from router.fingerprint import canonical_json
from router.provider_formats.dialects import gemini_schema, without_unportable_patterns
from router.provider_formats.formats import Detail, ProviderFormat, Schema, VendorText
from router.provider_formats.names import legal_name
from router.provider_formats.roots import merge_combinations, object_root, with_plain_parameters
from router.provider_formats.schemas import resolve_reference, valid_schema, with_targets
from router.provider_formats.strict import NotStrict, strict_schema, take
from router.record import Kind, ToolRecord
from router.tools.trust.trusted import TrustedRecord, trusted_record

# A model can only call what it is handed: what a skill or a prompt answers is its text.
_LEADS = {Kind.SKILL: "Skill, call it to read how: ", Kind.PROMPT: "Prompt, call it to read it: "}
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
# Characters. Half of the first sentences of 9,998 real MCP tools have at most 62, nine in ten at most 131.
_MAX_TOOL_DESCRIPTION = 140
_MAX_PARAMETER_DESCRIPTION = 60
# Keywords whose value maps names to schemas, is a schema, or is a list of them.
_NAMED = ("properties", "$defs", "patternProperties")
_NESTED = ("items", "additionalProperties")
_BRANCHES = ("anyOf", "oneOf", "allOf", "prefixItems")
# Keywords that a call needs. The others restrict values, which the tool itself checks.
_CALL_KEYWORDS = ("type", "enum", "const", "required", "format", "$ref")
_SENTENCE = re.compile(r"(?<![ (]e\.g\.)(?<![ (]i\.e\.)(?<=[.!?])\s+(?=[^a-z])|(?<=[。！？])|(?:(?<!\s)\s*)?\n")
_MAX_PARAMETERS = 24
_MAX_MEMBERS = 6
_MAX_VALUES = 8
_MAX_VALUE = 40
_MAX_NESTED = 2


class ToolShaper:
    """Makes the tools of one record, by default only of its trusted text. `handed` says what was withheld.

    Their schemas are copies that a caller may change. Values in them, such as those of an enum or a default, are the
    record's own.
    """

    def __init__(self, record: ToolRecord, vendor_text: VendorText = VendorText.TRUSTED) -> None:
        self.handed = handed_record(record, vendor_text)
        handed = self.handed.record
        lead = _LEADS.get(handed.kind)
        self._record = replace(handed, description=f"{lead}{handed.description}".strip()) if lead else handed
        self._object = object_root(valid_schema(handed.input_schema))
        self._without_combinations = merge_combinations(self._object)
        self._open: tuple[Schema, dict[str, str]] = ({"type": "object", "properties": {}}, {})
        self._schemas: dict[tuple[Any, ...], tuple[Schema, dict[str, str]]] = {}

    def tool(self, form: ProviderFormat, detail: Detail, name: str, closed: Schema | None) -> dict[str, Any]:
        """Return the record in a form; `closed` is its strict schema, None for a tool that is not strict."""
        annotations, description = self._record.annotations, self._record.description
        if detail is not Detail.FULL:
            is_short = detail is Detail.SHORT
            description = first_sentence(description, _MAX_TOOL_DESCRIPTION) if is_short else self._signature
        named = {"name": name, "description": description} if description else {"name": name}
        title = annotations.get("title") if form.spec.annotated and detail is Detail.FULL else None
        if isinstance(title, str):
            named["title"] = title
        tool = form.spec.tool(named, closed or self.schema(form, detail)[0], bool(closed))
        hints = _HINTS if form.spec.annotated and detail is not Detail.SIGNATURE else ()
        kept = {hint: annotations[hint] for hint in hints if isinstance(annotations.get(hint), bool)}
        return {**tool, "annotations": kept} if kept else tool

    def strict_schema(self, form: ProviderFormat, detail: Detail, taken: Counter[str] | None = None) -> Schema:
        """Return the strict schema, which `taken` counts. Raises NotStrict, with the reason, where there is none."""
        limits = form.spec.strict_limits
        if limits is None:
            raise NotStrict(f"{form} has no strict mode")
        if detail is Detail.SIGNATURE:
            raise NotStrict("a signature has no schema to hold it to")
        if not self._record.input_schema:
            raise NotStrict("the record has no schema")
        closed = strict_schema(self.schema(form, detail)[0], limits)
        if taken is not None and limits.request:
            take(closed, limits.request, taken)
        return closed

    def schema(self, form: ProviderFormat, detail: Detail) -> tuple[Schema, dict[str, str]]:
        """Return the schema of the parameters, and the old names, by new name, of those that the form renames."""
        if detail is Detail.SIGNATURE:
            return self._open
        spec = form.spec
        key = (spec.combined_root, spec.plain_parameters, spec.portable_patterns, spec.openapi_subset, detail)
        if key not in self._schemas:
            root = self._object if spec.combined_root else self._without_combinations
            if spec.portable_patterns:
                root = without_unportable_patterns(root)
            root, renamed = with_plain_parameters(root) if spec.plain_parameters else (root, {})
            if detail is Detail.SHORT:
                root = with_targets(short_schema(root), root, partial(short_schema, depth=1))
            self._schemas[key] = (gemini_schema(root) if spec.openapi_subset else root), renamed
        return self._schemas[key]

    @cached_property
    def _signature(self) -> str:
        return _signature_of(self._record, self._without_combinations)


def handed_record(record: ToolRecord, vendor_text: VendorText) -> TrustedRecord:
    """Return the record that a model is handed, and what was withheld of it."""
    record = record.without_outputs()
    return trusted_record(record) if vendor_text is VendorText.TRUSTED else TrustedRecord(record)


def variants(
    record: ToolRecord, forms: Iterable[ProviderFormat] | None = None, vendor_text: VendorText = VendorText.TRUSTED
) -> Iterator[tuple[dict[str, Any], Schema]]:
    """Yield a record in each of the forms (all of them for None), and in each form in every detail, with its schema.

    The tools are those of `render` without `strict`. Equal schemas of a record are one object.
    """
    shaper = ToolShaper(record, vendor_text)
    for form in ProviderFormat if forms is None else forms:
        name = legal_name(record.tool_id, form)
        for detail in Detail:
            yield shaper.tool(form, detail, name, None), shaper.schema(form, detail)[0]


def first_sentence(text: str, most: int) -> str:
    """Return the first sentence of a text, or of its first line, cut at `most` characters with a "…"."""
    # Twice the length, because runs of blanks become one.
    sentence = _one_line(_SENTENCE.split(text.strip()[: 2 * most], maxsplit=1)[0])
    if len(sentence) <= most:
        return sentence
    return sentence[: most - 1].rsplit(" ", 1)[0].rstrip(",;:- ") + "…"


def short_schema(schema: Any, depth: int = 0) -> Any:
    """Return a schema by which the tool can still be called: names, types, enums and required properties.

    Of the descriptions it keeps those of the root's properties, cut. `depth` is how many properties and items a part
    lies in.
    """
    if not isinstance(schema, Mapping):
        return schema
    short: Schema = {}
    for keyword, value in schema.items():
        if keyword in _CALL_KEYWORDS or (keyword in _NESTED and value is True):
            short[keyword] = value
        elif keyword in _NAMED:
            below = depth + (keyword == "properties")
            short[keyword] = {name: short_schema(child, below) for name, child in value.items()}
        elif keyword in _NESTED and value is not False:
            short[keyword] = short_schema(value, depth + 1)
        elif keyword in _BRANCHES:
            short[keyword] = [short_schema(branch, depth + 1) for branch in value]
        elif depth == 1 and keyword == "description" and (text := first_sentence(value, _MAX_PARAMETER_DESCRIPTION)):
            short[keyword] = text
    return short


def signature(record: ToolRecord, vendor_text: VendorText = VendorText.TRUSTED) -> str:
    """Return a line like `refund(charge: string, amount?: integer) — Gives money back.`, required parameters first.

    It has only the trusted text unless `vendor_text` is "verbatim".
    """
    if vendor_text is VendorText.TRUSTED:
        record = trusted_record(record).record
    return _signature_of(record, merge_combinations(object_root(valid_schema(record.input_schema))))


def _signature_of(record: ToolRecord, root: Schema) -> str:
    """Return the signature of a record; `root` is the object root of its schema, without combinations."""
    line = f"{_one_line(record.name)}({_members(root, root, 0, _MAX_PARAMETERS)})"
    description = first_sentence(record.description, _MAX_TOOL_DESCRIPTION)
    return f"{line} — {description}" if description else line


def _members(schema: Mapping[str, Any], root: Schema, depth: int, most: int) -> str:
    """Return the first `most` properties of a schema, required ones first."""
    properties = schema.get("properties", {})
    required = {name: "" for name in schema.get("required", ()) if name in properties}
    names = [*{**required, **{name: "?" for name in properties if name not in required}}.items()]
    members = [f"{_one_line(name)}{mark}: {_type(properties[name], root, depth + 1)}" for name, mark in names[:most]]
    return ", ".join([*members, "…"] if len(names) > most else members)


def _type(schema: Any, root: Schema, depth: int) -> str:
    """Return the type of a schema, such as `integer`, `"open"|"closed"` or `string[]`."""
    schema = resolve_reference(schema, root)
    if not isinstance(schema, Mapping):
        return "any"
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        texts = [canonical_json(value) for value in values[:_MAX_VALUES]]
        shown = [text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}…" for text in texts]
        return "|".join([*shown, "…"] if len(values) > _MAX_VALUES else shown)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            if depth > _MAX_NESTED:
                return "any"
            return "|".join(dict.fromkeys(_type(branch, root, depth + 1) for branch in schema[keyword][:_MAX_VALUES]))
    kind = schema.get("type", "object" if "properties" in schema else "any")
    return "|".join(_single_type(k, schema, root, depth) for k in (kind if isinstance(kind, list) else [kind]))


def _single_type(kind: str, schema: Mapping[str, Any], root: Schema, depth: int) -> str:
    """Return the type of a schema of one kind, with that of its items or properties."""
    if kind == "array" and "items" in schema and depth <= _MAX_NESTED:
        item = _type(schema["items"], root, depth + 1)
        return f"({item})[]" if "|" in item else f"{item}[]"
    if kind == "object" and schema.get("properties") and depth <= _MAX_NESTED:
        return f"{{{_members(schema, root, depth, _MAX_MEMBERS)}}}"
    return kind


def _one_line(text: str) -> str:
    """Return a text on one line, so that an untrusted one cannot look like the next tool's."""
    return " ".join(text.split())
