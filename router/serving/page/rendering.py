"""Templates into HTML: what a value holds is escaped, always."""

import json
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from router.serving.page.text import shown, tool_path

_LONGEST_JSON = 20_000


def _pretty(value: Any) -> str:
    return shown(json.dumps(value, ensure_ascii=False, indent=2), _LONGEST_JSON)


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


_ENVIRONMENT = Environment(
    loader=PackageLoader("router.serving.page"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {"shown": shown, "pretty": _pretty, "percent": _percent, "tool_path": tool_path}


def render(template: str, facts: Mapping[str, Any]) -> bytes:
    """A template with these facts, as UTF-8."""
    return _ENVIRONMENT.get_template(template).render(facts).encode("utf-8", "replace")
