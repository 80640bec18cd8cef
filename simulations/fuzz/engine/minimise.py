"""Make a failing input small (Zeller's ddmin), so that what is pinned shows what is wrong."""

import time
from collections.abc import Callable
from functools import partial

_SECONDS = 15.0
_TRIALS = 3_000


def minimise(data: bytes, fails: Callable[[bytes], bool], seconds: float = _SECONDS) -> bytes:
    """Return a part of an input that still fails: no line, and then no byte, of it can be left out.

    Ends early after some seconds, or 3,000 trials.
    """
    until, trials = time.monotonic() + seconds, 0

    def still_fails(candidate: bytes) -> bool:
        nonlocal trials
        trials += 1
        return trials <= _TRIALS and time.monotonic() < until and fails(candidate)

    for separator in (b"\n", b",", b""):
        parts = data.split(separator) if separator else [data[i : i + 1] for i in range(len(data))]
        data = separator.join(_reduced(parts, partial(_fails_joined, separator, still_fails)))
    return data


def _fails_joined(separator: bytes, fails: Callable[[bytes], bool], parts: list[bytes]) -> bool:
    return fails(separator.join(parts))


def _reduced(parts: list[bytes], fails: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Return the parts of which none can be left out, tried in runs of half, a quarter … of them, down to one."""
    size = len(parts) // 2
    while size:
        start = 0
        while start < len(parts):
            kept = parts[:start] + parts[start + size :]
            if kept and fails(kept):
                parts = kept
            else:
                start += size
        size //= 2
    return parts
