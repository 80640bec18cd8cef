"""The tools that other routers are given, in the form that each of them takes.

This folder imports nothing of Quartermaster, so that a peer can run in an environment of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

K = 10
# A line of tools.jsonl: id, name, provider, description, parameters; where a model wrote them, also `phrases`.
Tools = Sequence[Mapping[str, Any]]
Answer = Callable[[str], Sequence[str]]  # ids of at most K tools, best first


def unique_names(tools: Tools) -> list[str]:
    """Return a unique name for each tool, with its provider in front: peers have no field for providers."""
    seen: dict[str, int] = {}
    names = []
    for tool in tools:
        provider = (tool.get("provider") or "").strip()
        prefixed = provider and provider.lower() not in tool["name"].lower()
        name = f"{provider}_{tool['name']}" if prefixed else tool["name"]
        name = name.strip().replace(" ", "_").replace("/", "_")  # MCP allows neither
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}__{seen[name]}")
    return names


def description(tool: Mapping[str, Any]) -> str:
    """Return the description, "" where there is none."""
    return tool["description"] or ""


def short_texts(tools: Tools) -> list[str]:
    """Return name and description of each tool as one text."""
    return [f"{name}: {description(tool)}" for tool, name in zip(tools, unique_names(tools), strict=True)]


def schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as a JSON Schema object whose properties all have a type and a description."""
    given = (tool.get("parameters") or {}).get("properties") or {}
    properties = {}
    for name, value in given.items():
        row = dict(value) if isinstance(value, dict) else {}
        row["type"] = row.get("type") if isinstance(row.get("type"), str) else "string"
        row["description"] = row.get("description") if isinstance(row.get("description"), str) else ""
        properties[str(name)] = row
    return {"type": "object", "properties": properties}


def parameter_text(tool: Mapping[str, Any]) -> str:
    """Return names and descriptions of the parameters as one text."""
    return " ".join(f"{name} {row['description']}" for name, row in schema(tool)["properties"].items())


def whole_texts(tools: Tools) -> list[str]:
    """Return name, description and parameters of each tool as one text, its underscores as spaces."""
    pairs = zip(tools, unique_names(tools), strict=True)
    return [f"{name} {description(tool)} {parameter_text(tool)}".replace("_", " ") for tool, name in pairs]


def ids_by_name(tools: Tools) -> dict[str, str]:
    """Return the id of each tool by its unique name."""
    return dict(zip(unique_names(tools), (tool["id"] for tool in tools), strict=True))
