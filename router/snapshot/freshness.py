"""When a router last knew that it serves the newest snapshot: what tells a stale one from one that nobody replaced."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Freshness:
    """The moments of the last looks at the source, in seconds of `time.monotonic`; None where there was none yet.

    A snapshot in use is no older for its age: a catalog may not change for months. It is stale where nobody can say
    that it is still the newest: the source cannot be read, or what it publishes is refused.

    Attributes:
        watch_s: Seconds between two looks; None where nothing looks, and nothing is known.
        read_at: When the source last said what is newest.
        current_at: When the newest was last found to be what serves.
    """

    watch_s: float | None = None
    read_at: float | None = None
    current_at: float | None = None
