"""A model that says what a request needs, where no agent does: the `ask_needs` of a router."""

import asyncio
import hashlib
import json
import logging
import os
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from router.answer.executor import ASKING
from router.process import renew_in_child
from router.query.needs import first_needs
from router.typed import converted

INSTRUCTIONS = Path(__file__).with_name("needs_instructions.txt").read_text(encoding="utf-8").strip()
_LIST = {"needs": {"type": "array", "items": {"type": "string"}}}
_SCHEMA = {"type": "object", "properties": _LIST, "required": ["needs"], "additionalProperties": False}
_FORMAT = {"type": "json_schema", "json_schema": {"name": "needs", "strict": True, "schema": _SCHEMA}}
OUTCOMES = ("answered", "late", "refused", "nonsense", "cached", "busy", "resting")
_OPENAI = "https://api.openai.com/v1"
_TOKENS = ("prompt_tokens", "completion_tokens")
_SHARE = 0.93  # of the time that a request waits: the rest is for the way back from the other thread
_HALF = 2_000  # characters of a long request's beginning, and of its end: people say there what they want
_MAX_BYTES = 65_536  # of a reply
_MANY = 5  # failures in a row, after which the model is left alone
_REST_S = 30.0
_logger = logging.getLogger("quartermaster.needs")


class _Settings(msgspec.Struct, frozen=True):
    model: Annotated[str, Meta(pattern=r"\S")]
    base_url: Annotated[str, Meta(pattern="^https?://[^/]")]
    timeout_s: Annotated[float, Meta(ge=0.001, le=3600)]
    concurrency: Annotated[int, Meta(ge=1)]
    cache_size: Annotated[int, Meta(ge=0)]


class ModelNeeds:
    """Asks a chat model with OpenAI's API what a request needs. Threads may share it.

    Equal requests are asked once, and their needs kept. At most `concurrency` threads wait for the model at a time; a
    request beyond them has no needs, nor has one whose answer is late, fails or cannot be read. After five such answers
    in a row the model is left alone for half a minute; then one request tries it.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        timeout_s: float = 1.5,
        concurrency: int = ASKING,
        cache_size: int = 4_096,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Send nothing yet. `parameters` are further ones of each request, such as `reasoning_effort`.

        By default, OPENAI_BASE_URL and OPENAI_API_KEY of the environment say where the model is. A request waits
        `timeout_s` at most, in all; the needs of `cache_size` requests are kept. `clock` measures the rest.
        Raises SettingsInvalid.
        """
        import httpx2  # here, as few routers ask, and the extra `serve` has it

        given = {"model": model, "timeout_s": timeout_s, "concurrency": concurrency, "cache_size": cache_size}
        given["base_url"] = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        settings = converted(given, _Settings)
        self._httpx2, self._timeout_s, self._clock = httpx2, settings.timeout_s, clock
        self._key = api_key or os.environ.get("OPENAI_API_KEY") or "local"  # a local server may need none
        self._url = settings.base_url.rstrip("/") + "/chat/completions"
        self._body = {"model": model, "response_format": _FORMAT, **(parameters or {})}
        self._concurrency, self._cache_size = settings.concurrency, settings.cache_size
        self._cache: OrderedDict[bytes, tuple[str, ...]] = OrderedDict()
        self._pending: dict[bytes, Future[tuple[str, ...]]] = {}
        self._counts: Counter[str] = Counter(dict.fromkeys((*OUTCOMES, *_TOKENS), 0))
        self._waiting, self._failures, self._rests_until, self._closed = 0, 0, 0.0, False
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")

    def __call__(self, request: str) -> tuple[str, ...]:
        """Return the needs of a request; none where the model does not say them in time."""
        key = hashlib.sha256(request.encode("utf-8", "replace")).digest()  # no text of a request is kept
        with self._lock:
            if self._process != os.getpid():  # a fork leaves the thread behind
                self._process, self._thread, self._pending, self._waiting = os.getpid(), None, {}, 0
            if key in self._cache:
                self._cache.move_to_end(key)
                self._counts["cached"] += 1
                return self._cache[key]
            if self._closed:
                return ()
            rests = self._failures >= _MANY and self._clock() < self._rests_until
            asks = key not in self._pending
            if self._waiting >= self._concurrency or (asks and rests):
                self._counts["resting" if asks and rests else "busy"] += 1
                return ()
            if asks:
                self._rests_until = self._clock() + _REST_S  # after failures one request tries, and the others wait
                if self._thread is None:
                    self._loop = asyncio.new_event_loop()
                    self._client = self._httpx2.AsyncClient(timeout=self._timeout_s)
                    self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
                    self._thread.name = "quartermaster-needs"
                    self._thread.start()
                self._pending[key] = asyncio.run_coroutine_threadsafe(self._answer(key, request), self._loop)
            pending = self._pending[key]
            self._waiting += 1
        try:
            return pending.result(self._timeout_s)
        except (TimeoutError, CancelledError):  # the loop is busy, or `close` ended it
            return ()
        finally:
            with self._lock:
                self._waiting -= 1

    @property
    def counts(self) -> dict[str, int]:
        """Return how often each of OUTCOMES was seen, and the tokens that the server counted."""
        with self._lock:
            return dict(self._counts)

    def close(self) -> None:
        """End the thread and its connections. Requests that wait, and later ones, have no needs."""
        with self._lock:
            thread, self._thread, self._closed = self._thread, None, True
        if thread is not None and self._process == os.getpid():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop)
            thread.join()
            self._loop.close()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.aclose()
        self._loop.stop()

    async def _answer(self, key: bytes, request: str) -> tuple[str, ...]:
        """Return the needs that the model writes, and keep them; none where it fails, which is counted."""
        needs, outcome, cause = tuple[str, ...](), "late", ""
        try:
            async with asyncio.timeout(_SHARE * self._timeout_s):
                reply = await self._reply(request)
            needs, outcome = self._read(reply, request), "answered"
        except (TimeoutError, self._httpx2.TimeoutException):
            pass  # late
        except self._httpx2.HTTPError as error:
            status = error.response.status_code if isinstance(error, self._httpx2.HTTPStatusError) else None
            outcome, cause = "refused", f" ({status or type(error).__name__})"  # no message: it may quote a request
            if status in (400, 422):
                self._body.pop("response_format", None)  # it may be unknown, and the instructions ask for JSON too
        except (LookupError, TypeError, ValueError, RecursionError):  # of another shape than asked for
            outcome = "nonsense"
        finally:
            with self._lock:
                self._pending.pop(key, None)
                self._counts[outcome] += 1
                self._failures = 0 if outcome == "answered" else self._failures + 1
                if outcome == "answered":
                    self._cache[key] = needs
                    if len(self._cache) > self._cache_size:
                        self._cache.popitem(last=False)
        if self._failures == _MANY:
            _logger.warning("the model %s is asked no more for a while: %s%s", self._body["model"], outcome, cause)
        return needs

    async def _reply(self, request: str) -> bytes:
        """Return the body of the server's reply. Raises ValueError where it is too long."""
        shown = request if len(request) <= 2 * _HALF else f"{request[:_HALF]}\n[…]\n{request[-_HALF:]}"
        messages = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": shown}]
        body, headers = {**self._body, "messages": messages}, {"Authorization": f"Bearer {self._key}"}
        data = bytearray()
        async with self._client.stream(
            "POST", self._url, json=body, headers=headers, timeout=self._timeout_s
        ) as response:
            response.raise_for_status()
            async for part in response.aiter_raw():  # raw: a compressed reply may be of any length
                data += part
                if len(data) > _MAX_BYTES:
                    raise ValueError("the reply is too long")
        return bytes(data)

    def _read(self, reply: bytes, request: str) -> tuple[str, ...]:
        """Return the first needs in a reply, whatever thoughts and prose are around them, and add its tokens."""
        body = json.loads(reply)
        counted = body["usage"] if isinstance(body, dict) and isinstance(body.get("usage"), dict) else {}
        with self._lock:  # what a server says that it counted is data, too
            self._counts.update({k: n for k in _TOKENS if type(n := counted.get(k)) is int and 0 <= n < 10**7})
        text = str(body["choices"][0]["message"]["content"]).rpartition("</think>")[2]
        said = msgspec.convert(json.loads(text[text.find("{") : text.rfind("}") + 1])["needs"], list[str])
        return first_needs(["".join(mark if mark.isprintable() else " " for mark in need) for need in said], request)
