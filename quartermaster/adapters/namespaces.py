"""Functions of OpenAI's Responses API, grouped by provider: `{"type": "namespace", "name", "description", "tools"}`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from router.errors import SettingsInvalid
from router.provider_formats.formats import Form
from router.provider_formats.names import legal_name
from router.provider_formats.rendering import Rendered

# "As a best practice, aim to keep each namespace to fewer than 10 functions" (OpenAI's guide to tool search).
_MAX_FUNCTIONS = 9


def in_namespaces(rendered: Rendered, providers: Mapping[str, str | None], *, taken: Collection[str] = ()) -> Rendered:
    """Return rendered tools in namespaces of at most nine functions, one or more a provider.

    A function keeps its whole name, so that `tool_id` and `arguments` work as before, whatever namespace a call names.
    A namespace's description names its functions: before a search, the model sees nothing else of them. Tools without
    a provider stay functions and come last.

    Args:
        rendered: Tools in the form "responses".
        providers: The provider of each tool by its id.
        taken: Names that no namespace may get, since OpenAI refuses a name that comes twice in one dialogue.

    Raises:
        SettingsInvalid: The tools are in another form.
    """
    if rendered.form is not Form.RESPONSES:
        raise SettingsInvalid(f"form {rendered.form} has no namespaces: render the tools as {Form.RESPONSES}")
    groups: dict[str | None, list[dict[str, Any]]] = {}
    for tool in rendered.tools:
        groups.setdefault(providers.get(rendered.names[tool["name"]]), []).append(tool)
    loose = groups.pop(None, [])
    # OpenAI reserves the namespace of a deferred function's own name.
    names = {*taken, *rendered.names}
    namespaces = []
    for provider, tools in groups.items():
        for functions in _even_parts(tools):
            name = _free_name(legal_name(provider or "tools", Form.RESPONSES), names)
            names.add(name)
            namespaces.append(
                {"type": "namespace", "name": name, "description": _description(name, functions), "tools": functions}
            )
    return replace(rendered, tools=(*namespaces, *loose))


def _even_parts(tools: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield as few parts as possible, in order, whose sizes differ by one at most."""
    parts = -(-len(tools) // _MAX_FUNCTIONS)
    for part in range(parts):
        yield [*tools[part * len(tools) // parts : (part + 1) * len(tools) // parts]]


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return the name, or the first of name_2, name_3 and so on that is free."""
    if name not in taken:
        return name
    length = Form.RESPONSES.spec.length
    candidates = (f"{name[: length - len(ending)]}{ending}" for ending in (f"_{number}" for number in count(2)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _description(name: str, functions: Sequence[dict[str, Any]]) -> str:
    """Return the functions' names behind the namespace's. All are legal names: none of them can hold a sentence."""
    return f"{name}: {', '.join(tool['name'].partition('__')[2] or tool['name'] for tool in functions)}"
