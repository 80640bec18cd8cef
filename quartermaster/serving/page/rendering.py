"""Templates rendered as HTML: Jinja escapes markup, `visible_text` shows the characters that nobody sees."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from quartermaster.evaluation.verdict import why_assumed
from quartermaster.serving import MAX_K
from router.provider_formats.formats import Detail
from router.record import Kind
from router.retrieval.recipe import RECIPES
from router.tools.trust.characters import show_hidden

_MAX_JSON = 20_000  # characters of a schema


def visible_text(text: object, max_length: int = 2_000) -> str:
    """Return a text with invisible characters as code points, cut to `max_length` characters with its length added."""
    full = str(text)
    head = show_hidden(full[:max_length])
    return head if len(full) <= max_length else f"{head} … ({len(full):,} characters)"


def tool_path(tool_id: str) -> str:
    """Return the path of a tool's page. Escapes every slash if a browser would resolve a part: `..`, `.` or `//`."""
    plain = all(part not in ("", ".", "..") for part in tool_id.split("/"))
    return f"/tools/{quote(tool_id.encode('utf-8', 'replace'), safe='/' if plain else '')}"


def render(template: str, values: Mapping[str, Any]) -> bytes:
    """Return a template rendered with these values, as UTF-8."""
    return _ENVIRONMENT.get_template(template).render(values).encode("utf-8", "replace")


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.0f} %"


def _pretty_json(value: Any) -> str:
    return visible_text(json.dumps(value, ensure_ascii=False, indent=2), _MAX_JSON)


_ENVIRONMENT = Environment(
    loader=PackageLoader("quartermaster.serving.page"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {
    "visible": visible_text,
    "pretty_json": _pretty_json,
    "percent": percent,
    "number": "{:,}".format,
    "why_assumed": why_assumed,
    "tool_path": tool_path,
}
_ENVIRONMENT.globals |= {"max_k": MAX_K, "recipes": list(RECIPES), "details": list(Detail), "kinds": list(Kind)}
