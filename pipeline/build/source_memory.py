"""What a build remembers of its sources: their last good readings, which stand in while a source fails."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipeline.ledger import KnownSource, Ledger
from pipeline.sources import Reading
from pipeline.sources.last_reading import LastReading


@dataclass(frozen=True)
class SourceMemory:
    """The readings of a catalog's sources in the ledger.

    A read is good once its snapshot serves, so that an answer that a gate held back never stands in for a source.
    `area` is as in the runs of the ledger, `serving` the folder of the snapshot that serves, None where none does.
    `note` is told what cannot be used.
    """

    ledger: Ledger
    catalog: str
    area: str
    serving: Path | None
    note: Callable[[str], None]

    def find(self, key: str) -> LastReading | None:
        """Return a source's last good reading; None where there is none that this version can read."""
        try:
            return self.ledger.last_reading(self.catalog, self.area, key, self._snapshot)
        except ValueError as error:
            self.note(f"the last known records of a source cannot be used: {error}")
            return None

    def known_sources(self) -> list[KnownSource]:
        """Return the sources that were read well before, with the ids of their tools."""
        return self.ledger.known_sources(self.catalog, self.area, self._snapshot)

    def store(self, run: int, reading: Reading, snapshot: str, *, held: bool) -> None:
        """Store what the sources gave, before `snapshot` serves: a build that is killed then has not forgotten it."""
        if self._snapshot is not None:  # people may have let a held snapshot serve
            self.ledger.accept_readings(self.catalog, self.area, self._snapshot)
        self.ledger.put_readings(run, self.catalog, self.area, snapshot, reading.by_source, held=held)

    def accept(self, reading: Reading, snapshot: str) -> None:
        """Count the readings of a snapshot as good: it serves."""
        self.ledger.accept_readings(self.catalog, self.area, snapshot, reading.keys)

    @property
    def _snapshot(self) -> str | None:
        return self.serving.name if self.serving else None
