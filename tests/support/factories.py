"""Makers of the things that tests are about, with only what a test cares for spelled out."""

from typing import Any

from pipeline.sources import RawTool
from router.expansion import Expansion
from router.record import Origin, ToolRecord


def make_raw(name: str = "list_charges", **fields: Any) -> RawTool:
    """A raw tool of one file."""
    return RawTool(name=name, origin=fields.pop("origin", Origin("tools.json", "/0")), **fields)


def make_record(name: str = "list_charges", provider: str | None = "stripe", **fields: Any) -> ToolRecord:
    """A record with the id that its provider and name give it."""
    tool_id = fields.pop("tool_id", f"{provider}/{name}" if provider else name)
    fields.setdefault("description", "Returns charges.")
    return ToolRecord(tool_id=tool_id, provider=provider, name=name, **fields)


def make_expansion(*phrases: str, **fields: Any) -> Expansion:
    """An expansion with these phrases."""
    return Expansion(fields.pop("when_to_use", "Use it."), phrases or ("show me the payments",), **fields)


def _tool(provider: str, name: str, description: str, *parameters: str) -> dict[str, Any]:
    properties = {parameter: {"type": "string", "description": f"The {parameter}."} for parameter in parameters}
    return {
        "id": f"{provider}/{name}",
        "name": name,
        "provider": provider,
        "description": description,
        "parameters": {"type": "object", "properties": properties},
        "category": None,
        "examples": [],
    }


# Eight tools of four providers; sibling names across providers, so that no one word decides.
TOOLS = [
    _tool("stripe", "list_charges", "Returns a list of charges, newest first.", "status", "customer"),
    _tool("stripe", "create_refund", "Refunds a charge in full or in part.", "charge", "amount"),
    _tool("linear", "create_issue", "Creates an issue in a team.", "title", "teamId"),
    _tool("linear", "list_issues", "Lists issues by filter.", "state", "assignee"),
    _tool("github", "create_issue", "Opens an issue in a repository.", "repo", "title"),
    _tool("slack", "chat_postMessage", "Sends a message to a channel.", "channel", "text"),
    _tool("slack", "conversations_list", "Lists all channels in a workspace.", "cursor"),
    _tool("weather", "getForecast", "Forecast for a location.", "city"),
]

_PHRASES = {
    "stripe/list_charges": ["pull failed payments", "which cards were declined"],
    "stripe/create_refund": ["give the customer their money back", "undo a payment"],
    "linear/create_issue": ["file a ticket for the team", "log a bug in linear"],
    "linear/list_issues": ["what is on my plate", "open tickets of the team"],
    "github/create_issue": ["report a bug in the repo", "open an issue on github"],
    "slack/chat_postMessage": ["notify the on-call channel", "tell the team in slack"],
    "slack/conversations_list": ["which channels are there", "show every room"],
    "weather/getForecast": ["will it rain tomorrow", "do I need an umbrella"],
}


def expansion_row(tool: dict[str, Any]) -> dict[str, Any]:
    """The expansion of one of TOOLS as a line of expansions.jsonl."""
    return {
        "id": tool["id"],
        "when_to_use": f"Use it when {tool['description'].lower()}",
        "user_phrases": _PHRASES[tool["id"]],
        "synonyms": ["payments"] if tool["provider"] == "stripe" else ["things"],
        "related_concepts": [],
        "task_categories": [],
    }
