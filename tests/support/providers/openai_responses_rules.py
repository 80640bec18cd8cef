"""The rules of the Responses API that its types do not show, from its guides and its error messages."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Item = Mapping[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_MOST_FUNCTIONS = 9  # "keep each namespace to fewer than 10 functions": a rule here, advice there
_OUTPUT_OF = {"tool_search_call": "tool_search_output", "function_call": "function_call_output"}


class Refused(Exception):
    """The request is answered with status 400."""


@dataclass
class _Loaded:
    """What the model may call, and what it could search for: (namespace, function), "" for no namespace."""

    functions: set[tuple[str, str]] = field(default_factory=set)
    deferred: set[tuple[str, str]] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)

    def add(self, tools: Sequence[Item], place: str) -> None:
        for number, tool in enumerate(tools):
            where = f"{place}[{number}]"
            if tool["type"] == "namespace":
                self._add_namespace(tool, where)
            elif tool["type"] == "function":
                self._add_function(tool, "", where)

    def _add_namespace(self, tool: Item, where: str) -> None:
        name, functions = tool["name"], tool["tools"]
        if name in self.namespaces:
            raise Refused(f"Duplicate namespace name '{name}' in {where}. Namespace names must be unique.")
        if not _NAME.match(name) or not tool["description"].strip():
            raise Refused(f"Invalid namespace in {where}: a legal name and a description are required.")
        if not 0 < len(functions) <= _MOST_FUNCTIONS:
            raise Refused(f"{where} has {len(functions)} functions: 1 to {_MOST_FUNCTIONS} are allowed.")
        self.namespaces.add(name)
        for number, function in enumerate(functions):
            if function["name"] == name:
                raise Refused(f"{where}: the namespace '{name}' of a function of that name is reserved.")
            self._add_function(function, name, f"{where}.tools[{number}]")

    def _add_function(self, tool: Item, namespace: str, where: str) -> None:
        key = (namespace, tool["name"])
        if not _NAME.match(tool["name"]):
            raise Refused(f"Invalid '{where}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.")
        again = where.startswith("input") and key in self.deferred  # a search may load what `tools` declares
        if key in self.functions | self.deferred and not again:
            raise Refused(f"Duplicate function name '{tool['name']}' in {where}.")
        if (tool.get("parameters") or {}).get("type") != "object":
            raise Refused(f"Invalid schema for function '{tool['name']}': schema must have type 'object'.")
        (self.deferred if tool.get("defer_loading") else self.functions).add(key)


def check(body: Item) -> None:
    """Raise Refused for a request that the types allow and the API does not."""
    tools = body.get("tools", [])
    loaded = _Loaded()
    loaded.add(tools, "tools")
    searches = [tool for tool in tools if tool["type"] == "tool_search"]
    if len(searches) > 1:
        raise Refused("Only one tool_search tool is allowed.")
    if loaded.deferred and not searches:
        raise Refused("Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.")
    for search in searches:
        if search.get("execution", "server") == "server" and not loaded.deferred:
            raise Refused("Invalid Value: 'tools.tool_search'. tools.tool_search requires at least one deferred tool.")
        if search.get("execution") == "client" and not (search.get("description") and search.get("parameters")):
            raise Refused("A tool_search that the client executes requires a description and parameters.")
    if isinstance(body["input"], list):
        _check_dialogue(body["input"], loaded)


def _check_dialogue(items: Sequence[Item], loaded: _Loaded) -> None:
    open_calls: dict[str, str] = {}  # by call_id: the type of the output that it waits for
    for number, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "message" and open_calls:
            break
        if kind in _OUTPUT_OF and item.get("execution") != "server":
            if kind == "function_call":
                _check_call(item, loaded)
            open_calls[item["call_id"]] = _OUTPUT_OF[kind]
        is_output = kind in _OUTPUT_OF.values() and item.get("execution") != "server"
        if is_output and open_calls.pop(item["call_id"], None) != kind:
            raise Refused(f"No tool call found for {kind} with call_id {item['call_id']}.")
        if kind == "tool_search_output" and item.get("execution") != "server":
            loaded.add(item["tools"], f"input[{number}].tools")
    if open_calls:
        raise Refused(f"No tool output found for function call {', '.join(open_calls)}.")


def _check_call(item: Item, loaded: _Loaded) -> None:
    name, namespace = item["name"], item.get("namespace", "")
    if (namespace, name) in loaded.functions | loaded.deferred:
        return
    if namespace == name and ("", name) in loaded.deferred:  # its namespace, where it is in none
        return
    if not namespace:
        raise Refused(
            f"Missing namespace for function_call '{name}'. It does not exist in the default namespace. Round-trip the "
            "model's function_call item with its namespace field included."
        )
    raise Refused(f"There is no function '{name}' in the namespace '{namespace}'.")
