"""Items of OpenAI's Responses API: the search that OpenAI hosts, and the names that items load."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from router.errors import SettingsInvalid, quoted
from router.provider_formats.formats import ProviderFormat
from router.provider_formats.rendering import Rendered, in_namespaces, render
from router.router import Router
from router.selection.admission import admitted
from router.selection.settings import Selection

Item = Mapping[str, Any]


def fields_of(item: Any) -> Item:
    """Return an item as a mapping. Raises TypeError for what is neither one nor an object of the package `openai`."""
    if isinstance(item, Mapping):
        return item
    if callable(dump := getattr(item, "model_dump", None)):
        fields: Item = dump()
        return fields
    raise TypeError(f"an item is {quoted(item)}: it must be a mapping, or an object of the package openai")


def names_in(items: Iterable[Any]) -> set[str]:
    """Return the names of all functions and namespaces among items, and within them; a text has none."""
    names: set[str] = set()
    for item in () if isinstance(items, str) else map(fields_of, items):
        kind = item.get("type")
        if kind in ("function", "custom", "namespace"):
            names.add(item["name"])
        if kind in ("namespace", "tool_search_output", "additional_tools"):
            names |= names_in(item.get("tools") or ())
    return names


def hosted_tools(router: Router, selection: Selection | None = None, *, strict: bool = False) -> Rendered:
    """Return tools for the search that OpenAI hosts: `tool_search`, and all tools as deferred functions in namespaces.

    Without `selection` they are those that the router's own admits. Tools of its `always` are loaded from the start,
    outside of any namespace. `Router.tool_id_of` or the answer's own `tool_id` leads from a call back to the tool.

    Raises:
        SettingsInvalid: No tool is left to search.
    """
    selection = router.selection if selection is None else selection
    records = admitted(selection, [*router.tools])
    searched = {record.tool_id for record in records} - {*selection.always}
    rendered = render(
        # What tools of one namespace have in common comes first, the most general of it before the rest.
        sorted(records, key=lambda record: (record.provider or "", (*record.categories, "")[0], record.name)),
        ProviderFormat.RESPONSES,
        strict=strict,
        defer_loading=searched,
        cap=None,
        vendor_text=router.vendor_text,
    )
    if not any(tool.get("defer_loading") for tool in rendered.tools):
        raise SettingsInvalid("no tool is left to search: OpenAI refuses a hosted search without a deferred tool")
    grouped = in_namespaces(rendered, {r.tool_id: r.provider for r in records if r.tool_id in searched})
    return replace(grouped, tools=({"type": "tool_search"}, *grouped.tools))
