"""What goes wrong in each night of a month, drawn by a seed."""

import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from simulations.month import model, vendors
from simulations.month.evenings import EVENINGS

START = datetime(2026, 3, 1, 2, tzinfo=UTC)
_CLOCKS = {"clock ahead": timedelta(days=365), "clock behind": timedelta(days=-40)}
_WRONG_CLOCK = 3  # nights that a wrong clock lasts
STAMPED = 5  # nights that a vendor writes the time into its descriptions
_KINDS = (
    *(("source", fault) for fault in vendors.FAULTS),
    *(("model", fault) for fault in model.FAULTS),
    *(("host", fault) for fault in ("no key", "killed", "killed early", "clock ahead", "clock behind", "ledger lost")),
    *(("host", fault) for fault in ("ledger cut", "budget", "disk full", "new model", "no generator")),
    *(("operator", action) for action in ("rollback", "pin", "withdraws half", "restarts schedulers")),
    ("churn", "timestamps"),
)


@dataclass(frozen=True)
class Night:
    """One night. `source` is that of `source_fault`; `host` and `operator` are what else happens; empty: nothing.

    `evening` is how the model answers badly, `overhaul` says that half of all descriptions changed that day, `stamped`
    is the source whose descriptions have the time in them.
    """

    number: int
    at: datetime
    source: str = ""
    source_fault: str = ""
    model_fault: str = ""
    host: str = ""
    operator: str = ""
    kill_at: int = 0
    evening: str = ""
    overhaul: bool = False
    stamped: str = ""

    @property
    def quiet(self) -> bool:
        """Whether nothing goes wrong."""
        faults = (self.source_fault, self.model_fault, self.evening, self.host, self.operator, self.stamped)
        return not any(faults)

    def __str__(self) -> str:
        source = f"{self.source}: {self.source_fault}" if self.source_fault else ""
        model_fault = self.model_fault or self.evening
        stamped = self.stamped and f"{self.stamped}: timestamps"
        told = (source, model_fault and f"model: {model_fault}", self.host, self.operator, stamped)
        return ", ".join(filter(None, told)) or "quiet"


def draw_month(seed: int, nights: int, start: datetime = START) -> list[Night]:
    """Return so many nights. The first is quiet; then nights with one or two faults, a bad evening, and a quiet one.

    Most faults occur in a month of thirty nights; every evening does.
    """
    draw = random.Random(seed)
    faults, evenings = list(_KINDS), list(EVENINGS)
    draw.shuffle(faults)
    draw.shuffle(evenings)
    month = []
    for number in range(nights):
        night = Night(number, start + timedelta(days=number))
        if number % 4 == 3 and number + 1 < nights:
            night = replace(night, evening=evenings[number // 4 % len(evenings)], overhaul=True)
        elif number % 4:
            for _ in range(draw.choice((1, 2, 2))):
                if not faults:
                    faults = list(_KINDS)
                    draw.shuffle(faults)
                night = _with_fault(night, faults, draw)
        month.append(night)
    return _lasting(month)


def _lasting(month: list[Night]) -> list[Night]:
    """Let a wrong clock and a vendor's time stamps last several nights."""
    shifts, stamps = dict[int, timedelta](), dict[int, str]()
    for night in month:
        if night.host in _CLOCKS:
            shifts |= dict.fromkeys(range(night.number, night.number + _WRONG_CLOCK), _CLOCKS[night.host])
        if night.stamped:
            stamps |= dict.fromkeys(range(night.number, night.number + STAMPED), night.stamped)
    return [
        replace(night, at=night.at + shifts.get(night.number, timedelta()), stamped=stamps.get(night.number, ""))
        for night in month
    ]


def _with_fault(night: Night, kinds: list[tuple[str, str]], draw: random.Random) -> Night:
    kind, fault = kinds.pop()
    if kind == "source" and not night.source_fault:
        sources = vendors.PAGED if fault == vendors.PAGE_FAILS else vendors.SOURCES
        return replace(night, source=draw.choice(sources), source_fault=fault)
    if kind == "model" and not night.model_fault:
        return replace(night, model_fault=fault)
    if kind == "host" and not night.host:
        early = draw.randint(1, 100) if fault == "killed early" else draw.randint(100, 2_400)
        return replace(night, host=fault, kill_at=early)
    if kind == "operator" and not night.operator:
        return replace(night, operator=fault)
    if kind == "churn":
        return replace(night, stamped=draw.choice(vendors.SOURCES))
    return night
