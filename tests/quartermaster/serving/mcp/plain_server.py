"""An MCP server of the protocol 2025-11-25 in plain Python over stdio, that fails as it is told, and asks.

python plain_server.py            answers `echo`, `die`, `hang`, `talk`, `grow`, `sprout`
python plain_server.py silent     says nothing at all
python plain_server.py endless    gives the same pages of tools again and again
python plain_server.py pages      gives another page, of no tool, for ever
python plain_server.py many       lists 3,000 tools, `echo` the first
python plain_server.py odd        lists beside its tools some that are not as MCP has them
python plain_server.py large      lists six tools of 0.5 MB each
python plain_server.py weather    answers `forecast`, `sea level` and, with an error, `storm`
python plain_server.py flood      answers a call with one line that does not end
python plain_server.py asking     has the tools below

`ask`, `sample`, `roots`  ask before they answer, with the answer that they got
`hold`                    does not answer
`storm`                   sends 2,000 notifications of progress first
`late`                    asks after its answer, when no call is under way
`pester`, `nag`           ask 30 questions at once, or one after the other
`told`                    answers with what came back, and which calls were cancelled
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

WEATHER = ("forecast", "sea level", "storm")
NAMES = ("echo", "die", "hang", "talk", "grow", "sprout")
ASKING = ("ask", "sample", "roots", "hold", "storm", "late", "pester", "nag", "told")
_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
_ODD = [None, {"name": 5, "inputSchema": _TEXT}, {"name": "bare\u200b"}, {"name": "empty", "inputSchema": {}}]
_FORM = {
    "message": "Who are\u200b you?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string", "title": "Na\u200bme"}}},
}
_QUESTIONS = {
    "ask": ("elicitation/create", _FORM),
    "sample": (
        "sampling/createMessage",
        {
            "messages": [{"role": "user", "content": {"type": "text", "text": "What is 2+2?"}}],
            "maxTokens": 9,
            "includeContext": "allServers",
        },
    ),
    "roots": ("roots/list", {}),
}

Sent = Iterator[dict[str, Any] | str]  # messages, and text that is none
Heard = Callable[[dict[str, Any]], Sent]  # goes on once an answer has come


class Dies(Exception):
    """The process ends at once."""


class Hangs(Exception):
    """The process does nothing any more."""


class Plain:
    """One run of the server: `hear` gives what it sends."""

    def __init__(self, mode: str = "", environment: Mapping[str, str] = os.environ, pid: int = 0) -> None:
        self.mode, self.environment, self.pid = mode, environment, pid
        self.names = list({"asking": ASKING, "weather": WEATHER}.get(mode, NAMES))
        self.waiting: dict[str, Heard] = {}
        self.told: list[Any] = []

    def hear(self, message: dict[str, Any]) -> Sent:
        if message.get("method") == "notifications/cancelled":
            self.told.append({"cancelled": message["params"]["requestId"]})
        elif self.mode == "silent":
            return
        elif "method" in message and "id" in message:
            yield from self.answer(message["id"], message["method"], message.get("params", {}))
        elif message.get("id") in self.waiting:
            yield from self.waiting.pop(message["id"])(message.get("result") or {"error": message["error"]["message"]})

    def answer(self, call: Any, method: str, params: dict[str, Any]) -> Sent:
        if method == "tools/call":
            yield from self.called(call, params["name"], params)
            return
        result = self.listed(method, params)
        if result is None:
            yield sent(id=call, error={"code": -32601, "message": f"no method {method}"})
        else:
            yield sent(id=call, result=result)

    def listed(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        following = str(int(params.get("cursor", 0)) + 1)
        if method == "initialize":
            self.told.append({"capabilities": sorted(params["capabilities"])})
            info = {"name": self.environment.get("NAME", self.mode or "plain"), "version": "1"}
            capabilities = {"tools": {"listChanged": True}}
            return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
        if method == "tools/list" and self.mode in ("endless", "pages"):
            return {"tools": [], "nextCursor": str(int(following) % 3) if self.mode == "endless" else following}
        if method == "tools/list":
            names = [*self.names, *(f"tool{i}" for i in range(3_000 * (self.mode == "many")))]
            described = {"description": "x" * 500_000} if self.mode == "large" else {}
            tools = [{"name": name, "inputSchema": _TEXT, **described} for name in names]
            return {"tools": [*_ODD, *tools] if self.mode == "odd" else tools}
        return None

    def called(self, call: Any, name: str, params: dict[str, Any]) -> Sent:
        if self.mode == "flood":
            while True:
                yield "x" * 65_536
        if self.mode == "asking":
            yield from self.asked(call, name, params.get("_meta", {}).get("progressToken"))
            return
        if name == "storm" and self.mode == "weather":
            yield done(call, "no radar", is_error=True)
            return
        if name == "die":
            raise Dies
        if name == "hang":
            raise Hangs
        if name == "talk":
            yield "this is no JSON-RPC\n"
        if name in ("grow", "sprout"):
            self.names.append("late" if name == "grow" else "unsaid")
        if name == "grow":
            yield sent(method="notifications/tools/list_changed")
        secret = self.environment.get("SECRET")
        yield done(call, {"pid": self.pid, "arguments": params.get("arguments", {}), "secret": secret})

    def asked(self, call: Any, name: str, token: Any) -> Sent:
        if name in _QUESTIONS:
            yield self.ask(f"{name}-{call}", lambda answer: iter([done(call, answer)]), *_QUESTIONS[name])
        elif name in ("pester", "nag"):
            yield from self.many(call, 30 if name == "pester" else 1)
        elif name != "hold":
            for step in range(1, 2_001 if name == "storm" else 1):
                progress = {"progressToken": token, "progress": step, "total": 2_000}
                yield sent(method="notifications/progress", params=progress)
            yield done(call, self.told if name == "told" else name)
            if name == "late":
                yield self.ask(f"late-{call}", self.note)

    def ask(self, name: str, then: Heard, method: str = "elicitation/create", params: Any = _FORM) -> dict[str, Any]:
        self.waiting[name] = then
        return sent(id=name, method=method, params=params)

    def note(self, answer: Any) -> Sent:
        self.told.append(answer)
        return iter(())

    def many(self, call: Any, at_once: int) -> Sent:
        """Ask 30 questions, so many at a time."""
        answers: list[Any] = []

        def heard(answer: Any) -> Sent:
            answers.append(answer)
            if len(answers) == 30:
                yield done(call, answers)
            elif at_once == 1:
                yield self.ask(f"many-{call}-{len(answers)}", heard)

        for number in range(at_once):
            yield self.ask(f"many-{call}-{number}", heard)


def sent(**message: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **message}


def done(call: Any, content: Any, *, is_error: bool = False) -> dict[str, Any]:
    return sent(id=call, result={"content": [{"type": "text", "text": json.dumps(content)}], "isError": is_error})


def lines(messages: Iterable[dict[str, Any] | str]) -> Iterator[str]:
    """What is written for messages."""
    for message in messages:
        yield message if isinstance(message, str) else json.dumps(message) + "\n"


def main(mode: str) -> None:
    server = Plain(mode, os.environ, os.getpid())
    try:
        for line in sys.stdin:
            for written in lines(server.hear(json.loads(line))):
                print(written, end="", flush=True)
    except Dies:
        os._exit(3)
    except Hangs:
        time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
