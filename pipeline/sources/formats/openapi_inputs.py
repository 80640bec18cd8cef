"""Turn the parameters and the body of an operation into one JSON Schema, and keep where each argument goes."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pipeline.errors import RecordRejected
from pipeline.sources.formats.json_schema import SchemaScope
from pipeline.sources.formats.openapi_operations import (
    CallReader,
    body_field,
    form_field,
    placed,
    preferred_media,
)
from router.operation import BodyField, OperationBody, OperationParameter
from router.tools.definitions.raw_tool import FieldReader

_URLENCODED, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
_INLINE = ("type", "format", "items", "enum", "default", "minimum", "maximum", "pattern", "minLength", "maxLength")


class Inputs:
    """The arguments of one operation: their schema, and where each goes in a request."""

    def __init__(self, scope: SchemaScope, calls: CallReader) -> None:
        self._scope = scope
        self._calls = calls
        self.properties: dict[str, Any] = {}
        self._required: list[str] = []
        self._form: list[BodyField] = []
        self.parameters: list[OperationParameter] = []
        self.body: OperationBody | None = None

    @classmethod
    def read(cls, item: dict[str, Any], fields: FieldReader, scope: SchemaScope, calls: CallReader) -> "Inputs":
        """Read the parameters of a path item and an operation, and its body. Raises RecordRejected."""
        inputs = cls(scope, calls)
        body: dict[str, Any] | None = None
        for parameter in inputs._listed(item, fields):
            if parameter.get("in") == "body":
                body = dict(parameter)
            else:
                inputs._add_parameter(parameter)
        if inputs._form:
            inputs.body = _form_body(inputs._form, calls.media_types(fields.row), inputs._required)
        if fields.row.get("requestBody") is not None:
            body = scope.local(fields.row["requestBody"])
            if body is not None and not isinstance(body, dict):
                raise RecordRejected(fields.origin, "requestBody is not an object")
        if body:
            inputs._add_body(body, calls.media_types(fields.row))
        return inputs

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        schema: dict[str, Any] = {"type": "object", "properties": self.properties}
        if self._required:
            schema["required"] = list(dict.fromkeys(self._required))
        if definitions := self._scope.definitions():
            schema["$defs"] = definitions
        return schema

    def _listed(self, item: dict[str, Any], fields: FieldReader) -> Iterator[dict[str, Any]]:
        """Yield the path item's parameters, then the operation's, which replace those of the same name and place."""
        by_name: dict[tuple[str, str], dict[str, Any]] = {}
        for listed in (item.get("parameters"), fields.row.get("parameters")):
            if listed is not None and not isinstance(listed, list):
                raise RecordRejected(fields.origin, "parameters is not a list")
            for parameter in listed or ():
                parameter = self._scope.local(parameter)
                if parameter is None:
                    continue
                if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str):
                    raise RecordRejected(fields.origin, "a parameter has no name")
                by_name[str(parameter.get("in")), parameter["name"]] = parameter
        yield from by_name.values()

    def _add_parameter(self, parameter: dict[str, Any]) -> None:
        name, schema = parameter["name"], self._parameter_schema(parameter)
        if name in self.properties:
            other, name = name, self._free_name(f"{parameter.get('in')}_{name}")
            self._scope.notices.append(f"a second parameter named {other} became {name}")
        self.properties[name] = schema
        if parameter.get("required") is True or parameter.get("in") == "path":
            self._required.append(name)
        if parameter.get("in") == "formData":
            self._form.append(form_field(name, parameter))
        elif place := placed(name, parameter, is_swagger=self._calls.is_swagger):
            self.parameters.append(place)

    def _free_name(self, name: str) -> str:
        """Return a name that no other argument has."""
        while name in self.properties:
            name += "_"
        return name

    def _parameter_schema(self, parameter: dict[str, Any]) -> dict[str, Any]:
        """Return a parameter's schema. OpenAPI 3 has one (or one per media type), Swagger 2.0 has it inline."""
        if "schema" in parameter:
            raw = parameter["schema"]
        elif isinstance(content := parameter.get("content"), dict) and content:
            media = next(iter(content.values()))
            raw = media.get("schema", {}) if isinstance(media, dict) else {}
        else:
            raw = {key: parameter[key] for key in _INLINE if key in parameter}
        return self._described(raw, parameter)

    def _add_body(self, body: dict[str, Any], media_types: list[str]) -> None:
        """Merge an object's properties with the parameters; any other body, or a clash of names, is one argument."""
        raw: Any = body.get("schema")
        encodings: Any = None
        media_type = preferred_media(media_types) or "application/json"
        content = body.get("content")
        if isinstance(content, dict) and content:
            by_name = {str(key): value for key, value in content.items()}
            media = by_name[media_type := preferred_media(list(by_name))]
            raw = media.get("schema") if isinstance(media, dict) else None
            encodings = media.get("encoding") if isinstance(media, dict) else None
        required = body.get("required") is True
        target = self._scope.target(raw)
        inner = target.get("properties") if isinstance(target, dict) else None
        if isinstance(inner, dict) and inner and not _is_open(target) and not set(inner) & set(self.properties):
            self.properties.update({name: self._scope.rewrite(schema) for name, schema in inner.items()})
            if required and isinstance(target.get("required"), list):
                self._required.extend(name for name in target["required"] if isinstance(name, str) and name in inner)
            listed = encodings if isinstance(encodings, Mapping) else {}
            fields = tuple(body_field(str(name), self.properties[name], listed.get(name)) for name in inner)
            self.body = OperationBody(media_type, fields=fields, required=required)
            return
        name = "body" if "body" not in self.properties else self._free_name("request_body")
        self.properties[name] = self._described(raw, body, keep=True)
        if required:
            self._required.append(name)
        self.body = OperationBody(media_type, argument=name, required=required)

    def _described(self, raw: Any, holder: Mapping[str, Any], *, keep: bool = False) -> dict[str, Any]:
        """Return a schema with the description of what holds it; `keep` keeps the schema's own."""
        schema = self._scope.rewrite(raw)
        schema = dict(schema) if isinstance(schema, dict) else {}
        if isinstance(holder.get("description"), str):
            if not keep or "description" not in schema:
                schema["description"] = holder["description"]
            self._scope.take(holder["description"])
        return schema


def _form_body(form: list[BodyField], media_types: list[str], required: list[str]) -> OperationBody:
    """Return the body of Swagger's form parameters: multipart where there is a file, or nothing else is accepted."""
    is_multipart = any(field.is_file for field in form) or (
        _MULTIPART in media_types and _URLENCODED not in media_types
    )
    fields = tuple(replace(field, style="", explode=False) if field.is_file else field for field in form)
    needed = any(field.argument in required for field in form)
    return OperationBody(_MULTIPART if is_multipart else _URLENCODED, fields=fields, required=needed)


def _is_open(schema: dict[str, Any]) -> bool:
    """Return whether a body accepts more than its named properties, which merging would lose."""
    return any(key in schema for key in ("oneOf", "anyOf", "allOf", "not", "patternProperties")) or (
        schema.get("additionalProperties") not in (None, False)
    )
