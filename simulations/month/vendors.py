"""Four vendors' servers on loopback and a file: the tools that they truly have, and wrong answers by name."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.pipeline.sources.web import in_thread

Tools = dict[str, str]  # descriptions by name

LOGIN_PAGE = "<!doctype html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"
_VERBS = ("list", "create", "delete", "update", "archive", "export")
THINGS = {
    "payments": ("refund", "invoice", "charge", "payout", "dispute"),
    "tickets": ("ticket", "comment", "assignee", "label", "sprint"),
    "mail": ("message", "draft", "folder", "filter", "contact"),
    "files": ("file", "share", "version", "trash", "quota"),
    "chat": ("channel", "reaction", "thread", "mention", "topic"),
}
SOURCES = tuple(THINGS)
PAGED = ("mail", "chat")  # they declare further pages: in a header, and as MCP does
PAGE_FAILS = "second page fails"
_PAGE = 6  # tools


@dataclass(frozen=True)
class Answer:
    """An HTTP answer. `missing` bytes of the body are announced and not sent."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    missing: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)


def _jsonl(tools: Tools) -> str:
    return "".join(json.dumps({"name": name, "description": text}) + "\n" for name, text in tools.items())


def _openapi(tools: Tools) -> str:
    paths = {f"/{name}": {"post": {"operationId": name, "summary": text}} for name, text in tools.items()}
    return json.dumps({"openapi": "3.0.0", "info": {"title": "Tickets", "version": "1"}, "paths": paths})


def _functions(tools: Tools) -> str:
    return json.dumps([{"name": name, "description": text} for name, text in tools.items()])


def _mcp(tools: Tools, **more: str) -> str:
    schema = {"type": "object", "properties": {}}
    rows = [{"name": name, "description": text, "inputSchema": schema} for name, text in tools.items()]
    return json.dumps({"tools": rows, **more})


_WRITERS: dict[str, Callable[[Tools], str]] = {
    "payments": _jsonl,
    "tickets": _openapi,
    "mail": _functions,
    "files": _mcp,
    "chat": _mcp,
}
FORMATS = {"payments": "jsonl", "tickets": "openapi", "mail": "function", "files": "mcp", "chat": "function"}


def _first(source: str, tools: Tools, count: int) -> bytes:
    return _WRITERS[source](dict(list(tools.items())[:count])).encode()


# Wrong answers by the name of the fault. Each takes the source and its true tools.
FAULTS: dict[str, Callable[[str, Tools], Answer]] = {
    "unavailable": lambda source, tools: Answer(b"try later", "text/plain", 503),
    "gone": lambda source, tools: Answer(b"no such page", "text/plain", 404),
    "login page": lambda source, tools: Answer(LOGIN_PAGE.encode(), "text/html"),
    "login page as json": lambda source, tools: Answer(LOGIN_PAGE.encode()),
    "no tools": lambda source, tools: Answer(_WRITERS[source]({}).encode() or b"\n"),
    "half of the tools": lambda source, tools: Answer(_first(source, tools, len(tools) // 2)),
    "most of the tools, as 206": lambda source, tools: Answer(
        _first(source, tools, len(tools) - 2), status=206, headers={"content-range": f"items 0-9/{len(tools)}"}
    ),
    PAGE_FAILS: lambda source, tools: Answer(b"try later", "text/plain", 503),
    "cut": lambda source, tools: Answer((body := _WRITERS[source](tools).encode())[: len(body) // 2], missing=99),
    "cut without telling": lambda source, tools: Answer((b := _WRITERS[source](tools).encode())[: len(b) // 2 + 7]),
    "garbage": lambda source, tools: Answer(b"\x00\xff\xfe not json \x80"),
}


@dataclass
class Vendors:
    """The vendors. `tools` is the truth by source, `faults` the fault of each source that has one now.

    The descriptions of the source `stamped` end with the time, `today`.
    """

    random: random.Random
    folder: Path
    tools: dict[str, Tools] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    stamped: str = ""
    today: str = ""

    def __post_init__(self) -> None:
        for source, things in THINGS.items():
            names = [f"{verb}_{thing}" for thing in things for verb in _VERBS[:3]]
            self.tools[source] = {name: self._description(name) for name in names}

    def change(self) -> None:
        """Let a day pass: a few descriptions change, a tool comes, sometimes one goes."""
        source = self.random.choice(SOURCES)
        tools = self.tools[source]
        for name in self.random.sample(sorted(tools), self.random.randint(0, 2)):
            tools[name] = self._description(name)
        if self.random.random() < 0.6:
            name = f"{self.random.choice(_VERBS)}_{self.random.choice(THINGS[source])}_{self.random.randint(2, 99)}"
            tools.setdefault(name, self._description(name))
        if self.random.random() < 0.4:
            del tools[self.random.choice(sorted(tools))]

    def overhaul(self, turn: int) -> None:
        """Let all descriptions of two vendors change, whose turn it is."""
        for tools in (self.tools[SOURCES[place % len(SOURCES)]] for place in (turn, turn + 1)):
            tools |= {name: self._description(name) for name in sorted(tools)}

    def withdraw(self, source: str) -> None:
        """Let a vendor withdraw half of its tools, truly."""
        names = sorted(self.tools[source])
        for name in names[: len(names) // 2]:
            del self.tools[source][name]

    def listed(self, source: str) -> Tools:
        """Return the tools of a source as its vendor describes them today."""
        stamp = f" Updated at {self.today}." if source == self.stamped else ""
        return {name: text + stamp for name, text in self.tools[source].items()}

    def answer(self, source: str, page: int = 1) -> Answer:
        """Return what a source answers now; of one with pages, this page."""
        tools, fault = self.listed(source), self.faults.get(source)
        if fault and (fault != PAGE_FAILS or page > 1):
            return FAULTS[fault](source, tools)
        if source not in PAGED:
            return Answer(_WRITERS[source](tools).encode())
        shown = dict(list(tools.items())[(page - 1) * _PAGE : page * _PAGE])
        more = page * _PAGE < len(tools)
        if source == "chat" and more:
            return Answer(_mcp(shown, nextCursor=str(page + 1)).encode())
        link = {"link": f'</{source}?page={page + 1}>; rel="next"'} if more else {}
        return Answer(_WRITERS[source](shown).encode(), headers=link)

    def write_file(self) -> None:
        """Write the one source that is a file, or its fault."""
        answer = self.answer("files")
        path = self.folder / "files.json"
        if answer.status != 200:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(answer.body)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve over HTTP inside the block."""
        vendors = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                source, _, query = self.path.strip("/").partition("?")
                answer = vendors.answer(source, int(query.partition("=")[2] or 1))
                self.send_response(answer.status)
                length = {"content-length": str(len(answer.body) + answer.missing)}
                for name, value in {"content-type": answer.content_type, **length, **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, in_thread(server):
            self.url = f"http://127.0.0.1:{server.server_port}"
            yield

    def _description(self, name: str) -> str:
        verb, _, thing = name.partition("_")
        detail = self.random.choice(("of this account", "by its id", "in one call", "for a customer", "with a filter"))
        return f"{verb.capitalize()} a {thing.replace('_', ' ')} {detail} ({self.random.randint(100, 999)})."
