"""What each source gave at its last good read: a read counts as good once its snapshot serves."""

import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC

from pipeline.ledger.database import Database, utc_now
from pipeline.sources.last_reading import LastReading, SourceReading
from router.fingerprint import fingerprint

# The accepted reading of each source, or the one whose snapshot was made to serve since.
_VALID = """(
    SELECT * FROM source_readings WHERE catalog = $catalog AND area = $area AND (accepted OR snapshot = $serving)
    QUALIFY row_number() OVER (PARTITION BY source_key ORDER BY accepted, read_at DESC) = 1
) JOIN source_contents USING (content_hash)"""
_HERE = "catalog = $catalog AND area = $area"
_LEVEL = 1  # of gzip: a third larger than the smallest, ten times as fast


@dataclass(frozen=True, slots=True)
class KnownSource:
    """The ids of the tools that a source gave at its last good read."""

    key: str
    source: str
    tool_ids: frozenset[str]


class SourceReadings(Database):
    """The readings of a catalog's sources.

    A read is good once its snapshot serves, so that an answer that a gate held back never stands in for a source.
    """

    def __init__(
        self, database: Database, catalog: str, area: str, serving: str | None, note: Callable[[str], None]
    ) -> None:
        """Read and write through `database`. `serving` names the snapshot that serves; `note` hears what is unusable.

        `area` is as in the table of runs.
        """
        super().__init__(database.connection, database.path)
        self._serving = serving
        self._note = note
        self._place = {"catalog": catalog, "area": area}

    def find(self, key: str) -> LastReading | None:
        """Return a source's last good reading; None where there is none that this version can read."""
        rows = self.rows(
            f"SELECT source, read_at, content FROM {_VALID} WHERE source_key = $key", {**self._valid, "key": key}
        )
        if not rows:
            return None
        source, read_at, content = rows[0]
        try:
            text = gzip.decompress(content).decode("utf-8")
            return LastReading(SourceReading.from_text(key, source, text), read_at.replace(tzinfo=UTC))
        except (ValueError, OSError, EOFError, zlib.error) as error:
            self._note(f"the last known records of a source cannot be used: {error}")
            return None

    def known_sources(self) -> list[KnownSource]:
        """Return the sources that were read well before, with the ids of their tools, sorted by name."""
        rows = self.rows(f"SELECT source_key, source, tool_ids FROM {_VALID} ORDER BY source, source_key", self._valid)
        return [KnownSource(key, source, frozenset(json.loads(ids))) for key, source, ids in rows]

    def store(self, run: int, readings: Sequence[SourceReading], snapshot: str, *, held: bool) -> None:
        """Store what sources gave, before `snapshot` serves: a build that is killed then has not forgotten it.

        What is `held` replaces what was held before.
        """
        if self._serving is not None:  # people may have let a held snapshot serve
            self.accept(self._serving)
        texts = [(reading, text := reading.to_text(), fingerprint(text)) for reading in readings]
        stored = {digest for (digest,) in self.rows("SELECT content_hash FROM source_contents")}
        contents = {
            digest: {
                "content_hash": digest,
                "tool_ids": json.dumps(reading.tool_ids),
                "content": gzip.compress(text.encode(), _LEVEL, mtime=0),
            }
            for reading, text, digest in texts
            if digest not in stored
        }
        rows = [
            {"source_key": reading.key, "source": reading.source, "content_hash": digest}
            for reading, _, digest in texts
        ]
        with self.transaction():
            self.insert("source_contents", [*contents.values()])
            self.execute(
                f"DELETE FROM source_readings WHERE {_HERE} AND NOT accepted AND ($held OR snapshot = $snapshot)",
                {**self._place, "held": held, "snapshot": snapshot},
            )
            self.insert(
                "source_readings", rows, **self._place, read_at=utc_now(), run_id=run, snapshot=snapshot, accepted=False
            )

    def accept(self, snapshot: str, keys: Sequence[str] | None = None) -> None:
        """Count the readings of a snapshot as good, because it serves. Forget sources that are not among `keys`."""
        newer = f"SELECT source_key FROM source_readings WHERE {_HERE} AND NOT accepted AND snapshot = $snapshot"
        place = {**self._place, "snapshot": snapshot}
        with self.transaction():
            self.execute(f"DELETE FROM source_readings WHERE {_HERE} AND accepted AND source_key IN ({newer})", place)
            self.execute(f"UPDATE source_readings SET accepted = true WHERE {_HERE} AND snapshot = $snapshot", place)
            if keys is not None:
                self.execute(
                    f"DELETE FROM source_readings WHERE {_HERE} AND accepted AND NOT list_contains($keys, source_key)",
                    {**self._place, "keys": list(keys)},
                )
            self.execute(
                "DELETE FROM source_contents WHERE content_hash NOT IN (SELECT content_hash FROM source_readings)"
            )

    @property
    def _valid(self) -> dict[str, str]:
        return {**self._place, "serving": self._serving or ""}
