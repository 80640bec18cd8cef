"""OpenAI's Responses API: tools for the search that OpenAI hosts, which needs no code of yours.

>>> hosted = hosted_tools(router)
>>> response = client.responses.create(model=..., tools=hosted.tools, input=items)
>>> [hosted.tool_id(item.name) for item in response.output if item.type == "function_call"]
"""

from dataclasses import replace

from router.errors import SettingsInvalid
from router.provider_formats import Form, Rendered, render
from router.provider_formats.namespaces import in_namespaces
from router.record import ToolRecord
from router.router import Router
from router.selection import Selection
from router.selection.admission import admitted


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
        sorted(records, key=_place),
        Form.RESPONSES,
        strict=strict,
        defer_loading=searched,
        cap=None,
        vendor_text=router.vendor_text,
    )
    if not any(tool.get("defer_loading") for tool in rendered.tools):
        raise SettingsInvalid("no tool is left to search: OpenAI refuses a hosted search without a deferred tool")
    providers = {record.tool_id: record.provider for record in records if record.tool_id in searched}
    grouped = in_namespaces(rendered, providers)
    return replace(grouped, tools=({"type": "tool_search"}, *grouped.tools))


def _place(record: ToolRecord) -> tuple[str, str, str]:
    """Return what tools of one namespace have in common, the most general first."""
    return record.provider or "", (*record.categories, "")[0], record.name
