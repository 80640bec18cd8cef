"""What each source gave at its last good read: a read counts as good once its snapshot serves."""

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC

from pipeline.ledger.connection import LedgerFile, utc_now
from pipeline.ledger.schema import transaction
from pipeline.sources.last_reading import LastReading, SourceReading
from router.fingerprint import fingerprint

# The accepted reading of each source, or the one whose snapshot was made to serve since.
_VALID = """
    FROM source_readings WHERE catalog = $catalog AND area = $area AND (accepted OR snapshot = $serving)
    QUALIFY row_number() OVER (PARTITION BY source_key ORDER BY accepted, read_at DESC) = 1
"""
_LEVEL = 1  # of gzip: a third larger than the smallest, ten times as fast


@dataclass(frozen=True, slots=True)
class KnownSource:
    """The ids of the tools that a source gave at its last good read."""

    key: str
    source: str
    tool_ids: frozenset[str]


class SourceReadingTables(LedgerFile):
    """The tables of the last readings, by catalog and area."""

    def last_reading(self, catalog: str, area: str, key: str, serving: str | None) -> LastReading | None:
        """Return the last good reading of a source, given the name of the `serving` snapshot; None without one.

        Raises ValueError where another version wrote it differently.
        """
        rows = self._connection.execute(
            f"SELECT source, read_at, content FROM (SELECT * {_VALID}) JOIN source_contents USING (content_hash) "
            "WHERE source_key = $key",
            {"catalog": catalog, "area": area, "serving": serving or "", "key": key},
        ).fetchall()
        if not rows:
            return None
        source, read_at, content = rows[0]
        try:
            text = gzip.decompress(content).decode("utf-8")
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"it is damaged: {error}") from error
        return LastReading(SourceReading.from_text(key, source, text), read_at.replace(tzinfo=UTC))

    def known_sources(self, catalog: str, area: str, serving: str | None) -> list[KnownSource]:
        """Return the sources of a catalog with the ids of their tools, sorted by name."""
        rows = self._connection.execute(
            f"SELECT source_key, source, tool_ids FROM (SELECT * {_VALID}) JOIN source_contents USING (content_hash) "
            "ORDER BY source, source_key",
            {"catalog": catalog, "area": area, "serving": serving or ""},
        ).fetchall()
        return [KnownSource(key, source, frozenset(json.loads(ids))) for key, source, ids in rows]

    def put_readings(
        self, run: int, catalog: str, area: str, snapshot: str, readings: Sequence[SourceReading], *, held: bool
    ) -> None:
        """Store what sources gave for a snapshot that does not serve yet. One that is `held` replaces the held one."""
        texts = [reading.to_text() for reading in readings]
        hashes = [fingerprint(text) for text in texts]
        with transaction(self._connection):
            self._put_contents(dict(zip(hashes, zip(readings, texts, strict=True), strict=True)))
            self._connection.execute(
                "DELETE FROM source_readings WHERE catalog = ? AND area = ? AND NOT accepted AND (? OR snapshot = ?)",
                [catalog, area, held, snapshot],
            )
            count = len(readings)
            self._insert(
                "source_readings",
                {
                    "catalog": [catalog] * count,
                    "area": [area] * count,
                    "source_key": [reading.key for reading in readings],
                    "source": [reading.source for reading in readings],
                    "read_at": [utc_now()] * count,
                    "run_id": [run] * count,
                    "content_hash": hashes,
                    "snapshot": [snapshot] * count,
                    "accepted": [False] * count,
                },
            )

    def accept_readings(self, catalog: str, area: str, snapshot: str, keys: Sequence[str] | None = None) -> None:
        """Count what was stored for a snapshot as good, because it serves. Forget sources that are not among `keys`."""
        place = [catalog, area]
        newer = (
            "SELECT source_key FROM source_readings WHERE catalog = ? AND area = ? AND NOT accepted AND snapshot = ?"
        )
        with transaction(self._connection):
            self._connection.execute(
                f"DELETE FROM source_readings WHERE catalog = ? AND area = ? AND accepted AND source_key IN ({newer})",
                [*place, *place, snapshot],
            )
            self._connection.execute(
                "UPDATE source_readings SET accepted = true WHERE catalog = ? AND area = ? AND snapshot = ?",
                [*place, snapshot],
            )
            if keys is not None:
                self._connection.execute(
                    "DELETE FROM source_readings WHERE catalog = ? AND area = ? AND accepted AND source_key NOT IN "
                    "(SELECT unnest(?::VARCHAR[]))",
                    [*place, list(keys)],
                )
            self._connection.execute(
                "DELETE FROM source_contents WHERE content_hash NOT IN (SELECT content_hash FROM source_readings)"
            )

    def _put_contents(self, contents: Mapping[str, tuple[SourceReading, str]]) -> None:
        """Store readings and their texts, by hash, where the hash is new."""
        stored = {key for (key,) in self._connection.execute("SELECT content_hash FROM source_contents").fetchall()}
        for content_hash in contents.keys() - stored:
            reading, text = contents[content_hash]
            packed = gzip.compress(text.encode("utf-8"), _LEVEL, mtime=0)
            self._connection.execute(
                "INSERT INTO source_contents VALUES (?, ?, ?)", [content_hash, json.dumps(reading.tool_ids), packed]
            )
