"""What goes wrong in each night of a month, drawn by a seed."""

import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from simulations.month import model, vendors

START = datetime(2026, 3, 1, 2, tzinfo=UTC)
# A fault of each kind occurs in every month of thirty nights.
_CLOCKS = {"clock ahead": timedelta(days=365), "clock behind": timedelta(days=-40)}
_WRONG_CLOCK = 3  # nights that a wrong clock lasts
_KINDS = (
    *(("source", fault) for fault in vendors.FAULTS),
    *(("model", fault) for fault in model.FAULTS),
    *(("host", fault) for fault in ("no key", "killed", "killed early", "clock ahead", "clock behind", "ledger lost")),
    *(("host", fault) for fault in ("ledger cut", "budget", "disk full", "new model", "no generator")),
    *(("operator", action) for action in ("rollback", "pin", "withdraws half")),
)


@dataclass(frozen=True)
class Night:
    """One night. `source` is that of `source_fault`; `host` and `operator` are what else happens; empty: nothing."""

    number: int
    at: datetime
    source: str = ""
    source_fault: str = ""
    model_fault: str = ""
    host: str = ""
    operator: str = ""
    kill_at: int = 0

    @property
    def quiet(self) -> bool:
        """Whether nothing goes wrong."""
        return not (self.source_fault or self.model_fault or self.host or self.operator)

    def __str__(self) -> str:
        source = f"{self.source}: {self.source_fault}" if self.source_fault else ""
        told = (source, self.model_fault and f"model: {self.model_fault}", self.host, self.operator)
        return ", ".join(filter(None, told)) or "quiet"


def draw_month(seed: int, nights: int, start: datetime = START) -> list[Night]:
    """Return so many nights. The first is quiet; then nights with one or two faults, and every fourth quiet again."""
    draw = random.Random(seed)
    kinds = list(_KINDS)
    draw.shuffle(kinds)
    month = []
    for number in range(nights):
        night = Night(number, start + timedelta(days=number))
        if number % 4:
            for _ in range(draw.choice((1, 1, 2))):
                if not kinds:
                    kinds = list(_KINDS)
                    draw.shuffle(kinds)
                night = _with_fault(night, kinds, draw)
        month.append(night)
    return _with_clocks(month)


def _with_clocks(month: list[Night]) -> list[Night]:
    shifts = {
        night.number + more: _CLOCKS[night.host]
        for night in month
        if night.host in _CLOCKS
        for more in range(_WRONG_CLOCK)
    }
    return [replace(night, at=night.at + shifts.get(night.number, timedelta())) for night in month]


def _with_fault(night: Night, kinds: list[tuple[str, str]], draw: random.Random) -> Night:
    kind, fault = kinds.pop()
    if kind == "source" and not night.source_fault:
        return replace(night, source=draw.choice(vendors.SOURCES), source_fault=fault)
    if kind == "model" and not night.model_fault:
        return replace(night, model_fault=fault)
    if kind == "host" and not night.host:
        early = draw.randint(1, 100) if fault == "killed early" else draw.randint(100, 2_400)
        return replace(night, host=fault, kill_at=early)
    if kind == "operator" and not night.operator:
        return replace(night, operator=fault)
    return night
