"""[source.fields]: JMESPath expressions (https://jmespath.org) that map a document of another shape to tools."""

from collections.abc import Iterator, Mapping
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from pydantic import field_validator

from pipeline.settings.base import Section

_FUNCTIONS = frozenset(Functions.FUNCTION_TABLE)


class FieldSettings(Section):
    """JMESPath expressions by field, each over one record. A field without one is read as in any other source."""

    servers: str | None = None
    """The servers that offer tools, in the whole document."""
    tools: str | None = None
    """The records: in each server where `servers` is set, else in the whole document."""
    name: str | None = None
    """The tool's name."""
    description: str | None = None
    """Its description."""
    parameters: str | None = None
    """Its parameters, in any shape that a build reads."""
    provider: str | None = None
    """Its provider; looked up in the record, then in its server."""
    category: str | None = None
    """Its category."""
    id: str | None = None
    """Its id, in place of `<provider>/<name>`."""
    examples: str | None = None
    """Its examples."""

    @field_validator("*")
    @classmethod
    def _is_an_expression(cls, value: str | None) -> str | None:
        if value is not None:
            check(value)
        return value

    def of_a_record(self) -> dict[str, str]:
        """Return the expressions over a record, by field."""
        return {
            field: value for field, value in self if value is not None and field not in ("servers", "tools", "provider")
        }

    def keys(self) -> set[str]:
        """Return the keys that the expressions name."""
        return {
            key for _, value in self if value is not None for key in _named(jmespath.compile(value).parsed, "field")
        }


def check(expression: str) -> None:
    """Raise ValueError for an invalid JMESPath expression, with its place, or a call of an unknown function."""
    try:
        parsed = jmespath.compile(expression).parsed
    except (JMESPathError, RecursionError) as error:
        why = " ".join(str(error).split("for expression:")[0].split()).removeprefix("Invalid jmespath expression: ")
        why = why.encode("utf-8", "backslashreplace").decode()  # pydantic takes no half of a surrogate pair
        raise ValueError(f"{expression[:60]!r} is no JMESPath expression: {why}") from None
    for name in _named(parsed, "function_expression"):
        if name not in _FUNCTIONS:
            known = ", ".join(sorted(_FUNCTIONS))
            raise ValueError(f"{expression!r} calls {name}(), which JMESPath does not have: it has {known}")


def _named(node: Mapping[str, Any], kind: str) -> Iterator[str]:
    """Yield the names of the nodes of a kind in a parsed expression."""
    if node["type"] == kind:
        yield node["value"]
    for child in node["children"]:
        yield from _named(child, kind)
