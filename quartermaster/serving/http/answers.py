"""The API's answers as types, for the OpenAPI document alone: answers are encoded as the router returns them.

An answer, its tools and records are the router's own classes; the rest is here. All of it is published.
"""

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from router.answer.results import RoutedTools
from router.contract import Signal
from router.provider_formats import Rendered
from router.record import ToolRecord
from router.tools.trust.trusted import WithheldText

REFERENCE = "#/components/schemas/{name}"
_ATTRIBUTE = re.compile(r"^ {8}(\w+): (.+?)(?=^ {8}\w+: |\Z)", re.DOTALL | re.MULTILINE)


class Answers(msgspec.Struct):
    """An answer a request, in their order."""

    answers: list[RoutedTools]


class ToolPage(msgspec.Struct):
    """Tools by id; `next` is what to give as `after` for those behind them, null at the end."""

    tools: list[ToolRecord]
    next: str | None
    total: int


class Snapshot(msgspec.Struct):
    """What serves: the essentials of the snapshot's manifest."""

    snapshot: str
    catalog: str
    created_at: str
    tools: int
    signals: list[Signal]
    languages: list[str]
    encoder: str | None
    recipe: str
    token_counter: str
    counts: dict[str, int]
    generators: dict[str, int]


class Changed(msgspec.Struct):
    """The ids that a change registered, and how many tools are served after it."""

    registered: list[str]
    tools: int


class Health(msgspec.Struct):
    """`status` is "ok"; the snapshot where one serves."""

    status: str
    snapshot: str | None
    stale: Annotated[
        bool | None,
        Meta(description="Of /readyz: whether what serves is not known to be the newest; null where nothing looks."),
    ] = None


class Problem(msgspec.Struct):
    """Why it cannot be done: `message` for people, `type` for programs, `field` where one is wrong."""

    type: str
    message: str
    field: str = ""


class Failure(msgspec.Struct):
    """The one shape of everything that goes wrong."""

    error: Problem


class _Handed(msgspec.Struct):
    """What a record has in answers beside its own fields."""

    withheld: Annotated[list[WithheldText], Meta(description="Steering text and hidden characters that were left out.")]
    unusable: Annotated[
        str,
        Meta(description="Why no model should be handed the tool; empty for a tool that can be called."),
    ]


class _Routed(msgspec.Struct):
    """What an answer has over HTTP beside its own fields."""

    rendered: Annotated[Rendered | None, Meta(description="The tools as the asked `form` has them.")]


# By class: fields that no answer has, and a struct of those that it has beside its own.
_OTHERWISE: dict[str, tuple[tuple[str, ...], type[msgspec.Struct] | None]] = {
    "RoutedTools": (("vendor_text",), _Routed),
    "ToolRecord": (("outputs", "links", "operation"), _Handed),
    "Rendered": (("form", "strict"), None),
}
_OPTIONAL = {"ToolRecord": ("kind", "instructions"), "Health": ("stale",), "Problem": ("field",)}


def answer_schemas(kinds: list[type]) -> dict[str, Any]:
    """Return the JSON schemas of answers by name, those that they refer to among them."""
    extras = [extra for _, extra in _OTHERWISE.values() if extra]
    _, components = msgspec.json.schema_components([*kinds, *extras], ref_template=REFERENCE)
    for name, (omitted, extra) in _OTHERWISE.items():
        properties = components[name]["properties"]
        for field in omitted:
            del properties[field]
        properties |= components[extra.__name__]["properties"] if extra else {}
    for name, schema in components.items():
        if "properties" in schema:
            optional = _OPTIONAL.get(name, ())
            schema["required"] = [field for field in schema["properties"] if field not in optional]
            schema["additionalProperties"] = False
            _describe(schema)
    return _reached(components, [kind.__name__ for kind in kinds])


def _reached(components: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return the components of these names, and those that they refer to: not what is left out of an answer."""
    reached: dict[str, Any] = {}
    while names:
        if (name := names.pop()) not in reached:
            reached[name] = components[name]
            names += re.findall(r"#/components/schemas/(\w+)", msgspec.json.encode(components[name]).decode())
    return dict(sorted(reached.items()))


def _describe(schema: dict[str, Any]) -> None:
    """Move what a docstring says of each attribute to the attribute."""
    schema["description"], _, attributes = schema.get("description", "").partition("\n\n    Attributes:\n")
    for name, text in _ATTRIBUTE.findall(attributes):
        if name in schema["properties"] and "$ref" not in schema["properties"][name]:
            schema["properties"][name].setdefault("description", " ".join(text.split()))
