"""The events of a feedback log, and their lines of JSON."""

import json
from enum import StrEnum

import msgspec

MAX_NAME = 512  # characters of an id, as the servers accept them


class Outcome(StrEnum):
    """What became of a tool that was offered.

    Attributes:
        CALLED: The tool was called; how that went is not known.
        SUCCEEDED: The call did what was wanted.
        FAILED: The call failed. That says more of arguments and servers than of the choice: it teaches nothing.
        REJECTED: Somebody looked at the tool and said that it does not fit.
    """

    CALLED = "called"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REJECTED = "rejected"


class Offered(msgspec.Struct, frozen=True, tag="offered", tag_field="event", omit_defaults=True):
    """An answer. `tools` are the ids of its ranked tools, best first, `always` those that every answer has.

    `named` says that no tool was offered: somebody names the right tool of a request in a report.
    `at` is in seconds since 1970. `request` is None, and `needs` are empty, where the log keeps no texts; `caller` is
    who asked, None where callers are not told apart.
    """

    at: float
    id: str
    snapshot: str
    tools: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    caller: str | None = None
    request: str | None = None
    named: bool = False
    needs: tuple[str, ...] = ()


class Reported(msgspec.Struct, frozen=True, tag="reported", tag_field="event", omit_defaults=True):
    """What became of one tool of the answer `id`."""

    at: float
    id: str
    tool: str
    outcome: Outcome
    caller: str | None = None


class Removed(msgspec.Struct, frozen=True, tag="removed", tag_field="event"):
    """How many events were removed, the oldest first, to keep the log within its size."""

    at: float
    events: int


Event = Offered | Reported | Removed

_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode_events(events: list[Event]) -> bytes:
    """Return events as lines of JSON. Half a surrogate pair, which has no UTF-8, becomes a question mark."""
    try:
        return b"".join(msgspec.json.encode(event) + b"\n" for event in events)
    except UnicodeEncodeError:
        lines = (json.dumps(msgspec.to_builtins(event), ensure_ascii=False) for event in events)
        return b"".join(f"{line}\n".encode(errors="replace") for line in lines)


def decode_event(line: bytes) -> Event | None:
    """Return the event of a line; None where it holds none, as a line that was cut off."""
    try:
        return _DECODER.decode(line)
    except (ValueError, RecursionError):
        return None
