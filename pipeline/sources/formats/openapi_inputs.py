"""Turn the parameters and the body of an operation into one JSON Schema, and keep where each argument goes."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pipeline.errors import RecordRejected
from pipeline.sources.formats.json_schema import SchemaScope, mapping
from pipeline.sources.formats.openapi_document import JSON_MEDIA, ApiDocument, text_of
from router.operation import BodyField, OperationBody, OperationParameter, Place, Style
from router.tools.definitions.raw_tool import FieldReader

_URLENCODED, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
# The schema of Swagger's parameters stands in the parameter.
_INLINE = ("type", "format", "items", "enum", "default", "minimum", "maximum", "pattern", "minLength", "maxLength")
_STYLES: Mapping[Place, tuple[Style, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),
}
_COLLECTIONS: Mapping[str, Style] = {"ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}


class Inputs:
    """The arguments of one operation: their schema, and where each goes in a request."""

    def __init__(self, item: dict[str, Any], fields: FieldReader, scope: SchemaScope, api: ApiDocument) -> None:
        """Read the parameters of a path item and an operation, and its body. Raises RecordRejected."""
        self._scope = scope
        self._is_swagger = api.is_swagger
        self.properties: dict[str, Any] = {}
        self._required: list[str] = []
        self._form: list[BodyField] = []
        self.parameters: list[OperationParameter] = []
        self.body: OperationBody | None = None
        body: Any = None
        for parameter in self._listed(item, fields):
            if parameter.get("in") == "body":
                body = parameter
            else:
                self._add_parameter(parameter)
        media_types = api.media_types(fields.row)
        if self._form:
            self.body = self._form_body(media_types)
        if fields.row.get("requestBody") is not None:
            body = scope.local(fields.row["requestBody"])
            if body is not None and not isinstance(body, dict):
                raise RecordRejected(fields.origin, "requestBody is not an object")
        if body:
            self._add_body(body, media_types)

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
                if (parameter := self._scope.local(parameter)) is None:
                    continue
                if not isinstance(mapping(parameter).get("name"), str):
                    raise RecordRejected(fields.origin, "a parameter has no name")
                by_name[str(parameter.get("in")), parameter["name"]] = parameter
        yield from by_name.values()

    def _add_parameter(self, parameter: dict[str, Any]) -> None:
        argument = name = parameter["name"]
        schema = self._parameter_schema(parameter)
        place: Any = parameter.get("in")
        if name in self.properties:
            argument = self._free_name(f"{place}_{name}")
            self._scope.notices.append(f"a second parameter named {name} became {argument}")
        self.properties[argument] = schema
        if parameter.get("required") is True or place == "path":
            self._required.append(argument)
        wire_name = "" if argument == name else name
        if place == "formData":
            style, explode = _collection(parameter, "query")
            self._form.append(BodyField(argument, wire_name, style, explode, is_file=parameter.get("type") == "file"))
        elif place in get_args(Place):
            style, explode = (_collection if self._is_swagger else _style)(parameter, place)
            content = mapping(parameter.get("content"))
            reserved, media_type = parameter.get("allowReserved") is True, text_of(next(iter(content), ""))
            self.parameters.append(OperationParameter(argument, place, wire_name, style, explode, reserved, media_type))

    def _free_name(self, name: str) -> str:
        """Return a name that no other argument has."""
        while name in self.properties:
            name += "_"
        return name

    def _parameter_schema(self, parameter: dict[str, Any]) -> dict[str, Any]:
        """Return a parameter's schema. OpenAPI 3 has one (or one per media type), Swagger 2.0 has it inline."""
        if "schema" in parameter:
            raw = parameter["schema"]
        elif content := mapping(parameter.get("content")):
            raw = mapping(next(iter(content.values()))).get("schema", {})
        else:
            raw = {key: parameter[key] for key in _INLINE if key in parameter}
        return self._described(raw, parameter)

    def _form_body(self, media_types: list[str]) -> OperationBody:
        """Return the body of Swagger's form parameters: multipart where a file is sent, or nothing else is accepted."""
        is_multipart = any(field.is_file for field in self._form) or (
            _MULTIPART in media_types and _URLENCODED not in media_types
        )
        fields = tuple(
            BodyField(field.argument, field.name, is_file=True) if field.is_file else field for field in self._form
        )
        required = any(field.argument in self._required for field in fields)
        return OperationBody(_MULTIPART if is_multipart else _URLENCODED, fields=fields, required=required)

    def _add_body(self, body: dict[str, Any], media_types: list[str]) -> None:
        """Merge an object's properties with the parameters; any other body, or a clash of names, is one argument."""
        raw, encodings = body.get("schema"), None
        media_type = _preferred(media_types) or "application/json"
        if content := {str(key): mapping(value) for key, value in mapping(body.get("content")).items()}:
            media_type = _preferred(list(content))
            raw, encodings = content[media_type].get("schema"), content[media_type].get("encoding")
        required = body.get("required") is True
        target = mapping(self._scope.target(raw)[0])
        inner = mapping(target.get("properties"))
        if inner and not _is_open(target) and not set(inner) & set(self.properties):
            inner = {name: inner[name] for name in inner if str(name) not in self._scope.read_only(target)}
            self.properties.update({name: self._scope.rewrite(schema) for name, schema in inner.items()})
            if required and isinstance(names := target.get("required"), list):
                self._required.extend(name for name in names if isinstance(name, str) and name in inner)
            fields = (_body_field(name, self.properties[name], mapping(encodings).get(name)) for name in inner)
            self.body = OperationBody(media_type, fields=tuple(fields), required=required)
            return
        name = "body" if "body" not in self.properties else self._free_name("request_body")
        self.properties[name] = self._described(raw, body, keep=True)
        if required:
            self._required.append(name)
        self.body = OperationBody(media_type, argument=name, required=required)

    def _described(self, raw: Any, holder: Mapping[str, Any], *, keep: bool = False) -> dict[str, Any]:
        """Return a schema with the description of what holds it; `keep` keeps the schema's own."""
        schema = dict(mapping(self._scope.rewrite(raw)))
        if isinstance(holder.get("description"), str) and not (keep and "description" in schema):
            schema["description"] = holder["description"]
        return schema


def _is_open(schema: Mapping[str, Any]) -> bool:
    """Return whether a body accepts more than its named properties, which merging would lose."""
    return any(key in schema for key in ("oneOf", "anyOf", "allOf", "not", "patternProperties")) or (
        schema.get("additionalProperties") not in (None, False)
    )


def _body_field(name: str, schema: Any, encoding: Any) -> BodyField:
    """Return a property of a body that is a separate argument. `encoding` is how the document writes it in forms."""
    row, style, explode = mapping(encoding), None, False
    if any(key in row for key in ("style", "explode", "allowReserved")):
        style, explode = _style(row, "query")
    media_type = text_of(row.get("contentType")).split(",")[0].strip()
    one = mapping(schema)
    if one.get("type") == "array":
        one = mapping(one.get("items", one))
    is_file = one.get("format") == "binary" or "contentMediaType" in one  # OpenAPI 3.0's way, and 3.1's
    return BodyField(name, "", style or "", explode, media_type, is_file)


def _preferred(media_types: list[str]) -> str:
    """Return JSON where it is offered, else the first media type; empty for none."""
    return next((one for one in media_types if JSON_MEDIA.match(one)), media_types[0] if media_types else "")


def _style(row: Mapping[str, Any], place: Place) -> tuple[Style, bool]:
    styles = _STYLES[place]
    style = next((style for style in styles if style == row.get("style")), styles[0])
    explode = row.get("explode")
    return style, explode if isinstance(explode, bool) else style in ("form", "cookie", "deepObject")


def _collection(parameter: Mapping[str, Any], place: Place) -> tuple[Style, bool]:
    """Return the style that means the same as Swagger's `collectionFormat`, which is "csv" unless it is given."""
    given = parameter.get("collectionFormat")
    plain: Style = "form" if place in ("query", "cookie") else "simple"
    if given == "multi" and place == "query":
        return "form", True
    return (_COLLECTIONS.get(given, plain) if isinstance(given, str) else plain), False
