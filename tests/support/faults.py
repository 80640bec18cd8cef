"""Faults of a bucket by name, the plan that says which request meets one, and the log of the requests."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from threading import Lock
from typing import Literal, get_args

Kind = Literal[
    "hang",  # no answer for `seconds`; then the connection breaks
    "break",  # the connection breaks before the request is passed on
    "slow down",  # 503 SlowDown, with a Retry-After of `seconds` unless that is 0
    "error",  # 500 InternalError; nothing was done
    "cut answer",  # the connection breaks in the middle of the answer's body
    "cut request",  # the server gets half of the request's body; then both connections break
    "lost answer",  # the request was done, and the connection breaks instead of an answer
    "failed answer",  # the request was done, and the answer is 500
    "flip answer",  # one byte of the answer's body differs
    "flip request",  # one byte of the request's body differs
    "delay",  # passed on after `seconds`
]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass
class Fault:
    """A fault that requests meet.

    Attributes:
        kind: What goes wrong.
        method: GET, HEAD, PUT, DELETE, POST or LIST (a GET of the bucket, which lists its objects); "*" for each.
        key: A pattern of the object's key, as fnmatch reads it, where "*" stands for slashes, too. The key of a LIST is
            its prefix; a bulk delete (POST) has the empty key.
        share: The share of the matching requests that meet it, 0 to 1.
        skip: So many matching requests pass first.
        times: At most so many requests meet it.
        seconds: How long it takes; see `Kind`.
        act: Called before the client gets its answer, or loses the connection: such as what kills the client.
    """

    kind: Kind
    method: str = "*"
    key: str = "*"
    share: float = 1.0
    skip: int = 0
    times: int = 1_000_000_000
    seconds: float = 0.0
    act: Callable[[], object] | None = None

    def matches(self, method: str, key: str) -> bool:
        """Whether a request could meet this fault."""
        return self.method in ("*", method) and fnmatchcase(key, self.key)


@dataclass(frozen=True)
class Logged:
    """A request that came to the proxy.

    Attributes:
        method: As in `Fault`.
        key: As in `Fault`.
        status: The status that the client was answered; 0 where the connection broke before.
        sent: Bytes of body that the client sent.
        received: Bytes of body that the client was answered.
        fault: The kind of the fault that it met; empty for none.
        done: Whether the server did what was asked: it answered 2xx.
        body: The body that the client sent, where the plan keeps that of this key.
        condition: The ETag in If-Match, or "*" of If-None-Match; empty for a request without a condition.
    """

    method: str
    key: str
    status: int
    sent: int
    received: int
    fault: str
    done: bool
    body: bytes = b""
    condition: str = ""


@dataclass
class Plan:
    """Says which requests meet a fault, and remembers what came. Safe to use from several threads.

    Attributes:
        seed: Draws which of the requests that match meet a fault, where that is a share of them.
        keep: A pattern of the keys of which the log keeps what was written to them.
        log: The requests in the order in which they ended.
        counts: By kind, how many requests met that fault.
    """

    seed: int = 0
    keep: str = ""
    log: list[Logged] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._lock = Lock()
        self._faults: tuple[Fault, ...] = ()

    def set(self, *faults: Fault) -> None:
        """Let these faults take the place of those before; none of them for a bucket that works."""
        self._faults = faults

    def draw(self, method: str, key: str) -> Fault | None:
        """Return the fault that a request meets: of those that match, the first that is its turn."""
        with self._lock:
            for fault in self._faults:
                if not fault.matches(method, key):
                    continue
                if fault.skip > 0:
                    fault.skip -= 1
                elif fault.times > 0 and self._random.random() < fault.share:
                    fault.times -= 1
                    self.counts[fault.kind] += 1
                    return fault
        return None

    def record(self, entry: Logged) -> None:
        """Add a request to the log."""
        with self._lock:
            self.log.append(entry)

    def uploads(self) -> Counter[str]:
        """Return how often each key was written: PUTs that the server did."""
        return Counter(entry.key for entry in self.log if entry.method == "PUT" and entry.done)
