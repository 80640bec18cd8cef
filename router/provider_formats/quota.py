"""What a provider's strict mode takes in one request, all its tools together."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from router.provider_formats.schemas import Schema
from router.provider_formats.strict import NotStrict

# Anthropic, "JSON schema limitations": beyond them the whole request fails, "Schema is too complex for compilation".
_TOOLS = 20
_OPTIONAL = 24
_UNIONS = 16


@dataclass(slots=True)
class Quota:
    """The strict tools, optional properties and properties of several types that a request has so far."""

    tools: int = 0
    optional: int = 0
    unions: int = 0

    def take(self, schema: Schema) -> None:
        """Count a strict schema in. Raises NotStrict, and counts nothing, where it is too much for the request."""
        properties = list(_properties(schema))
        optional = self.optional + sum(not required for _, required in properties)
        unions = self.unions + sum("anyOf" in child or isinstance(child.get("type"), list) for child, _ in properties)
        for what, count, most in (
            ("strict tools", self.tools + 1, _TOOLS),
            ("optional properties", optional, _OPTIONAL),
            ("properties of several types", unions, _UNIONS),
        ):
            if count > most:
                raise NotStrict(f"a request takes at most {most} {what}; with this tool there would be {count}")
        self.tools, self.optional, self.unions = self.tools + 1, optional, unions


def _properties(schema: Any) -> Iterator[tuple[Schema, bool]]:
    """Every property in a strict schema, and whether it is required."""
    required = set(schema.get("required", ()))
    for name, child in schema.get("properties", {}).items():
        yield child, name in required
        yield from _properties(child)
    inner = (*schema.get("$defs", {}).values(), *schema.get("anyOf", ()), *filter(None, (schema.get("items"),)))
    for child in inner:
        yield from _properties(child)
