"""An MCP server of the protocol 2025-11-25 in plain Python over stdio, that asks its clients, and too much of them.

`ask`, `sample`, `roots`  ask before they answer, with the answer that they got
`hold`                    answers once `release` is called
`steps`, `storm`          send 4, and 20,000 notifications of progress first
`late`                    asks after its answer, when no call is under way
`pester`                  asks 30 questions at once
`stubborn`                asks once the call after it has begun, though it was cancelled; that call ends then
`two`                     asks twice, the second time a moment later
`told`                    answers with what came back, and which calls were cancelled
`chatter`                 says 500 times that its lists changed
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

NAMES = [
    "ask",
    "sample",
    "roots",
    "hold",
    "release",
    "steps",
    "storm",
    "late",
    "pester",
    "told",
    "chatter",
    "stubborn",
    "two",
]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "title": "Na\u200bme"}}}
FORM = {"message": "Who are\u200b you?", "requestedSchema": SCHEMA}
MESSAGES = [{"role": "user", "content": {"type": "text", "text": "What is 2+2?"}}]
CAPABILITIES = {"tools": {}, "resources": {"listChanged": True}, "prompts": {"listChanged": True}}
waiting: dict[str, Callable[[dict[str, Any]], None]] = {}
held: list[Any] = []
told: list[Any] = []


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def done(call: Any, content: Any) -> None:
    send(id=call, result={"content": [{"type": "text", "text": json.dumps(content)}], "isError": False})


def ask(name: str, method: str, params: dict[str, Any], then: Callable[[dict[str, Any]], None]) -> None:
    waiting[name] = then
    send(id=name, method=method, params=params)


def pester(call: Any) -> None:
    answers: list[Any] = []

    def heard(answer: Any) -> None:
        answers.append(answer)
        if len(answers) == 30:
            done(call, answers)

    for number in range(30):
        ask(f"pester-{call}-{number}", "elicitation/create", FORM, heard)


def two(call: Any) -> None:
    answers: list[Any] = []

    def heard(answer: Any) -> None:
        answers.append(answer)
        if len(answers) == 2:
            done(call, answers)

    ask(f"two-{call}-1", "elicitation/create", FORM, heard)
    time.sleep(0.2)
    ask(f"two-{call}-2", "elicitation/create", FORM, heard)


def call_tool(call: Any, name: str, token: Any) -> None:
    if name == "ask":
        ask(f"ask-{call}", "elicitation/create", FORM, lambda answer: done(call, answer))
    elif name == "sample":
        params = {"messages": MESSAGES, "maxTokens": 9, "includeContext": "allServers"}
        ask(f"sample-{call}", "sampling/createMessage", params, lambda answer: done(call, answer))
    elif name == "roots":
        ask(f"roots-{call}", "roots/list", {}, lambda answer: done(call, answer))
    elif name == "hold":
        held.append(call)
        told.append("held")
    elif name == "pester":
        pester(call)
    elif name == "stubborn":
        if held:
            ask(f"stubborn-{call}", "elicitation/create", FORM, lambda answer: done(call, answer))
        held.append(call)
        told.append("held")
    elif name == "two":
        two(call)
    else:
        steps = {"steps": 4, "storm": 20_000}.get(name, 0)
        for step in range(1, steps + 1):
            params = {"progressToken": token, "progress": step, "total": steps, "message": f"step\u200b {step}"}
            send(method="notifications/progress", params=params)
        for _ in range(500 * (name == "chatter")):
            send(method="notifications/resources/list_changed")
            send(method="notifications/prompts/list_changed")
        done(call, told if name == "told" else name)
        while name == "release" and held:
            done(held.pop(), "released")
        if name == "late":
            ask(f"late-{call}", "elicitation/create", FORM, told.append)


def answer(call: Any, method: str, params: dict[str, Any]) -> None:
    if method == "initialize":
        told.append({"capabilities": sorted(params["capabilities"])})
        info = {"name": "asking", "version": "1"}
        send(id=call, result={"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": info})
    elif method == "tools/list":
        tools = [{"name": name, "description": f"Do {name}.", "inputSchema": {"type": "object"}} for name in NAMES]
        send(id=call, result={"tools": tools})
    elif method == "resources/list":
        page = int(params.get("cursor", 0)) + 1
        send(id=call, result={"resources": [{"uri": f"x:{page}", "name": "x"}], "nextCursor": str(page)})
    elif method == "prompts/list":
        huge = {"name": "huge", "description": "y" * 2_000_000}
        send(id=call, result={"prompts": [{"name": "hid\u200bden"}, huge]})
    elif method == "tools/call":
        call_tool(call, params["name"], params.get("_meta", {}).get("progressToken"))
    else:
        send(id=call, error={"code": -32601, "message": f"no method {method}"})


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            told.append({"cancelled": message["params"]["requestId"]})
        elif "method" in message and "id" in message:
            answer(message["id"], message["method"], message.get("params", {}))
        elif message.get("id") in waiting:
            waiting.pop(message["id"])(message.get("result") or {"error": message["error"]["message"]})


if __name__ == "__main__":
    main()
