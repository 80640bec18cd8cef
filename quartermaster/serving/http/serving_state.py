"""What a process says of what it serves: for `/readyz`, for Prometheus, and by workers to each other."""

import time
from datetime import datetime

import msgspec

from quartermaster.serving.http.settings import HttpSettings
from router.router import Router
from router.snapshot.current import Freshness

_STALE_AFTER_S = 300.0
_LOOKS = 3  # a snapshot is not stale because one look or two have failed


class ServingState(msgspec.Struct, frozen=True, kw_only=True, tag="state"):
    """The state of one process that serves. Moments are seconds of `time.monotonic`, the same in all processes.

    Attributes:
        problem: Why it is not ready; empty where it is.
        snapshot: The name of the snapshot that serves.
        catalog: The name of its catalog.
        created: When it was built, in seconds of `time.time`; None where its manifest has no time.
        tools: How many tools it serves.
        refusal: Why the newest publication does not serve; empty where it does.
        watched: Whether the process looks for new snapshots.
        read_at: When the source was last read; None where it was not.
        current_at: When the newest publication was last found to be what serves; None where it was not.
        cached_requests: How many requests' vectors are kept.
    """

    problem: str
    snapshot: str
    catalog: str
    created: float | None
    tools: int
    refusal: str
    watched: bool
    read_at: float | None
    current_at: float | None
    cached_requests: int


def state_of(router: Router, problem: str) -> ServingState:
    """Return the state of a router that serves."""
    manifest, freshness = router.manifest, router.freshness
    return ServingState(
        problem=tellable(problem),
        snapshot=manifest.snapshot,
        catalog=manifest.catalog,
        created=_seconds(manifest.created_at),
        tools=len(router),
        refusal=tellable(router.refusal),
        watched=freshness.watch_s is not None,
        read_at=freshness.read_at,
        current_at=freshness.current_at,
        cached_requests=router.cache.size,
    )


def staleness(freshness: Freshness, settings: HttpSettings) -> str | None:
    """Return why what serves is stale, empty where it is not; None where nothing looks for a new snapshot."""
    if freshness.watch_s is None:
        return None
    limit = stale_after(freshness.watch_s, settings)
    if freshness.current_at is None:
        since = "since the start"
    else:
        seconds = time.monotonic() - freshness.current_at
        if seconds <= limit:
            return ""
        since = f"for {seconds:.0f} s"
    return f"what serves is not known to be the newest snapshot {since}: the server's log has the reason"


def stale_after(watch_s: float, settings: HttpSettings) -> float:
    """Return after how many seconds without a look that found the newest snapshot serving, it counts as stale."""
    if settings.stale_after_s is not None:
        return settings.stale_after_s
    return max(_STALE_AFTER_S, _LOOKS * watch_s)


def _seconds(created_at: str) -> float | None:
    """Return a manifest's time in seconds since 1970; None for a text that is no time."""
    try:
        return datetime.fromisoformat(created_at).timestamp()
    except (ValueError, OverflowError):  # no time, or none that a clock shows
        return None


def tellable(text: str) -> str:
    """Return a text that JSON can hold: bytes of a path that are no UTF-8 are written out."""
    return text.encode("utf-8", "backslashreplace").decode()
