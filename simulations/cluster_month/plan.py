"""What goes wrong in each night of a month on the cluster, drawn by a seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.support.faults import Fault

# Faults of the bucket by name. Each night makes them anew, since faults count. "away" is no fault of a request.
BUCKET: dict[str, Callable[[], list[Fault]]] = {
    "slow down": lambda: [Fault("slow down", share=0.3)],
    "slow down, retry after": lambda: [Fault("slow down", share=0.1, seconds=1)],
    "internal errors": lambda: [Fault("error", share=0.3)],
    "hangs": lambda: [Fault("hang", share=0.1, times=6, seconds=1)],
    "breaks": lambda: [Fault("break", share=0.2)],
    "half downloads": lambda: [Fault("cut answer", "GET", share=0.4)],
    "half uploads": lambda: [Fault("cut request", "PUT", share=0.4)],
    "lost answers": lambda: [Fault("lost answer", "PUT", share=0.4)],
    "failed answers": lambda: [Fault("failed answer", "PUT", share=0.4)],
    "lost answers of CURRENT": lambda: [Fault("lost answer", "PUT", "*CURRENT", share=0.7)],
    "failed answers of CURRENT": lambda: [Fault("failed answer", "PUT", "*CURRENT", share=0.7)],
    "flipped downloads": lambda: [Fault("flip answer", "GET", "*/files/*", share=0.3)],
    "flipped manifests": lambda: [Fault("flip answer", "GET", "*.json", share=0.3)],
    "flipped uploads": lambda: [Fault("flip request", "PUT", share=0.3)],
    "late": lambda: [Fault("delay", seconds=0.05)],
    "away": list,
}
# What happens to one builder. The kills come at a request of its own.
BUILDERS = (
    "killed in the upload",
    "killed before CURRENT",
    "killed after CURRENT",
    "killed anywhere",
    "reads yesterday's tools",
    "model fails",
    "workspace lost",
    "builds on workers of which one dies",
)
OPERATORS = ("rollback", "pin", "rollback while builders publish")
READERS = (
    "cache damaged",
    "cache emptied",
    "cache emptied while it serves",
    "disk full",
    "restarted",
    "restarted without the bucket",
)
KINDS = (
    *(("bucket", fault) for fault in BUCKET),
    *(("builder", event) for event in BUILDERS),
    *(("operator", action) for action in OPERATORS),
    *(("reader", event) for event in READERS),
)


@dataclass(frozen=True)
class Night:
    """One night; an empty field for nothing of the kind.

    Attributes:
        number: From 0.
        bucket: A fault of the bucket, for the builders and the routers.
        builder: What happens to the builder `unlucky`.
        unlucky: 0 or 1.
        operator: What the operator does in the morning; or in the middle of the night.
        reader: What happens to the router `struck`.
        struck: 0 to 7.
        moment: When something happens that may at any time, 0 to 1 of a build.
    """

    number: int
    bucket: str = ""
    builder: str = ""
    unlucky: int = 0
    operator: str = ""
    reader: str = ""
    struck: int = 0
    moment: float = 0.5

    @property
    def quiet(self) -> bool:
        """Whether nothing goes wrong."""
        return not (self.bucket or self.builder or self.operator or self.reader)

    def __str__(self) -> str:
        told = (
            self.bucket and f"bucket: {self.bucket}",
            self.builder and f"builder {self.unlucky} {self.builder}",
            self.operator,
            self.reader and f"router {self.struck}: {self.reader}",
        )
        return ", ".join(filter(None, told)) or "quiet"


def draw_month(seed: int, nights: int, routers: int = 8) -> list[Night]:
    """Return so many nights: every fourth is quiet, the others have one to three events, each kind in its turn."""
    draw = random.Random(seed)
    kinds: list[tuple[str, str]] = []
    month = []
    for number in range(nights):
        night = Night(number, unlucky=draw.randrange(2), struck=draw.randrange(routers), moment=draw.random())
        if number % 4:
            for _ in range(draw.choice((1, 2, 3))):
                if not kinds:
                    kinds = list(KINDS)
                    draw.shuffle(kinds)
                kind = next((one for one in reversed(kinds) if not getattr(night, one[0])), None)
                if kind is not None:
                    kinds.remove(kind)
                    night = replace(night, **{kind[0]: kind[1]})  # type: ignore[arg-type]  # names of its texts
        month.append(night)
    return month
