"""An MCP server of the protocol before 2026 in plain Python over stdio, that starts at once and fails as it is told.

python plain_server.py            answers `echo`, `die`, `hang`, `talk`, `grow`, `sprout`
python plain_server.py silent     says nothing at all
python plain_server.py endless    gives the same pages of tools again and again
python plain_server.py pages      gives another page, of no tool, for ever
python plain_server.py many       lists 3,000 tools, `echo` the first
python plain_server.py large      lists a tool of 3 MB
python plain_server.py flood      answers a call with one line that does not end
"""

import json
import os
import sys
import time
from typing import Any

NAMES = ["echo", "die", "hang", "talk", "grow", "sprout"]


def tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": f"Do {name}.", "inputSchema": schema}


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "die":
        os._exit(3)
    if name == "hang":
        time.sleep(600)
    if name == "talk":
        print("this is no JSON-RPC", flush=True)
    if name == "sprout":
        NAMES.append("unsaid")
    if name == "grow":
        NAMES.append("late")
        send(method="notifications/tools/list_changed")
    text = json.dumps({"pid": os.getpid(), "arguments": arguments, "secret": os.environ.get("SECRET")})
    return {"content": [{"type": "text", "text": text}], "isError": False}


def answer(method: str, params: dict[str, Any], mode: str) -> dict[str, Any] | None:
    if method == "initialize":
        info = {"name": os.environ.get("NAME", "plain"), "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}, "serverInfo": info}
    if method == "tools/list":
        if mode == "endless":
            page = int(params.get("cursor", 0)) + 1
            return {"tools": [], "nextCursor": str(page % 3)}
        if mode == "pages":
            return {"tools": [], "nextCursor": str(int(params.get("cursor", 0)) + 1)}
        if mode == "large":
            return {"tools": [{**tool("echo"), "description": "x" * 3_000_000}]}
        return {"tools": [tool(name) for name in [*NAMES, *(f"tool{i}" for i in range(3_000 * (mode == "many")))]]}
    if method == "tools/call" and mode == "flood":
        while True:
            print("x" * 65_536, end="", flush=True)
    return call(params["name"], params.get("arguments", {})) if method == "tools/call" else None


def main(mode: str) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if mode == "silent" or "id" not in message:
            continue
        result = answer(message["method"], message.get("params", {}), mode)
        if result is None:
            send(id=message["id"], error={"code": -32601, "message": f"no method {message['method']}"})
        else:
            send(id=message["id"], result=result)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
