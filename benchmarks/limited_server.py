"""A chat model's server in a process of its own that enforces limits as providers do, and counts what it accepts.

`python -m benchmarks.limited_server --rpm 6000` prints its URL and serves until its input ends. GET
/stats tells what was accepted, answered and refused.
"""

import argparse
import asyncio
import hashlib
import json
import random
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.pipeline.enrichment.limits import Limit

_CHARS_A_TOKEN = 4


@dataclass
class LimitedServer:
    """The server's settings and its statistics."""

    rpm: float | None = None
    tpm: float | None = None
    style: str = "minute"
    window_s: float = 6.0
    latency: tuple[float, float] = (0.05, 0.6)
    rate_headers: bool = True
    retry_after: bool = True
    seed: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    refused: list[float] = field(default_factory=list)
    accepted_at: list[float] = field(default_factory=list)
    answered: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        limits = {"requests": self.rpm, "tokens": self.tpm}
        self._limits = {kind: Limit(n, self.style, self.window_s) for kind, n in limits.items() if n}
        self._prefixes: set[str] = set()

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after another."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = next((int(r[15:]) for r in head.lower().split("\r\n") if r.startswith("content-length:")), 0)
                body = await reader.readexactly(length)
                headers: dict[str, str] = {}
                if head.startswith("GET /stats"):
                    status, said = 200, self.stats()
                elif head.startswith("GET /count"):
                    status, said = 200, {"accepted": len(self.accepted_at)}
                else:
                    status, headers, said = await self._reply(json.loads(body))
                data = json.dumps(said).encode()
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                writer.write(
                    f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{lines}"
                    f"content-length: {len(data)}\r\n\r\n".encode()
                    + data
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def stats(self) -> dict[str, Any]:
        """Return the statistics, as JSON."""
        return {
            "accepted": self.accepted,
            "accepted_at": self.accepted_at,
            "refused": self.refused,
            "answered": self.answered,
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens,
            "completion_tokens": self.completion_tokens,
        }

    async def _reply(self, body: dict[str, Any]) -> tuple[int, dict[str, str], dict[str, Any]]:
        now = time.monotonic()
        system, user = (message["content"] for message in body["messages"])
        tool = json.loads(user)["tool"]
        prompt = (len(system) + len(user)) // _CHARS_A_TOKEN + 16
        completed = self._random.randint(120, 320)
        needs = {"requests": 1.0, "tokens": float(prompt + completed)}
        wait = max((limit.wait(now, needs[kind]) for kind, limit in self._limits.items()), default=0.0)
        if wait > 0:
            self.refused.append(now)
            headers = {
                **self._headers(now),
                **({"retry-after-ms": str(round(wait * 1e3) + 1)} if self.retry_after else {}),
            }
            return 429, headers, {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit"}}
        for kind, limit in self._limits.items():
            limit.take(now, needs[kind])
        self.accepted_at.append(now)
        self.accepted[hashlib.sha256(user.encode()).hexdigest()[:12]] += 1
        # A prefix is cached in whole blocks once it was computed, as providers do.
        cached = len(system) // _CHARS_A_TOKEN // 1_024 * 1_024 if system in self._prefixes else 0
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(self._random.uniform(*self.latency))
        self._prefixes.add(system)
        self.in_flight -= 1
        self.answered += 1
        self.prompt_tokens += prompt
        self.cached_tokens += cached
        self.completion_tokens += completed
        content = json.dumps(_row(tool))
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        usage = {"prompt_tokens": prompt, "completion_tokens": completed, "total_tokens": prompt + completed}
        return (
            200,
            self._headers(time.monotonic()),
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1_760_000_000,
                "model": body["model"],
                "choices": [choice],
                "usage": {**usage, "prompt_tokens_details": {"cached_tokens": cached}},
            },
        )

    def _headers(self, now: float) -> dict[str, str]:
        headers = {}
        for kind, limit in self._limits.items() if self.rate_headers else ():
            headers[f"x-ratelimit-limit-{kind}"] = f"{limit.per_minute:.0f}"
            headers[f"x-ratelimit-remaining-{kind}"] = f"{max(0.0, limit.left(now)):.0f}"
            headers[f"x-ratelimit-reset-{kind}"] = f"{limit.reset(now) * 1e3:.0f}ms"
        return headers


def _row(tool: dict[str, Any]) -> dict[str, Any]:
    words = tool.get("description", tool["name"]).rstrip(".").lower()
    return {
        "tool": tool["name"],
        "when_to_use": f"When somebody wants to {words}.",
        "user_phrases": [f"{words} for me please", f"can you {words}", f"I need somebody to {words} before tonight"],
        "synonyms": [],
        "related_concepts": [],
        "task_categories": [],
    }


@contextmanager
def running(*arguments: object) -> Iterator[str]:
    """Yield the URL of a server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.limited_server", *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def stats(url: str, of: str = "stats") -> dict[str, Any]:
    """Return the statistics of a running server; for "count" only the number of accepted requests."""
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/{of}", timeout=30) as response:
        return dict(json.load(response))


async def _serve(server: LimitedServer) -> None:
    listening = await asyncio.start_server(server.connection, "127.0.0.1", 0, backlog=1_024)
    print(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", flush=True)
    async with listening:
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rpm", type=float)
    parser.add_argument("--tpm", type=float)
    parser.add_argument("--style", choices=("minute", "second", "bucket", "fixed"), default="minute")
    parser.add_argument("--window", type=float, default=6.0, help="seconds that stand for the minute of a window")
    parser.add_argument("--latency", type=float, nargs=2, default=(0.05, 0.6))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-headers", action="store_true")
    parser.add_argument("--no-retry-after", action="store_true")
    given = parser.parse_args()
    server = LimitedServer(
        given.rpm,
        given.tpm,
        given.style,
        given.window,
        tuple(given.latency),
        not given.no_headers,
        not given.no_retry_after,
        given.seed,
    )
    asyncio.run(_serve(server))


if __name__ == "__main__":
    main()
