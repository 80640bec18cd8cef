"""Read from the serving snapshot, once, what a build compares itself with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import SnapshotInvalid
from pipeline.inspection.reading import Inspection


@dataclass(frozen=True, slots=True)
class ServedTools:
    """The serving tools by id: the hash of each record, the file it was read from, and who wrote its expansion.

    `snapshot` is the name of the snapshot that serves; None where none does, or none that can be inspected.
    """

    snapshot: str | None = None
    record_hashes: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    generators: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path | None) -> "ServedTools":
        """Read a snapshot's folder.

        Empty without a folder, and for a snapshot that cannot be opened or is of an older format: what it held is not
        known, and nothing is claimed.
        """
        if folder is None:
            return cls()
        try:
            with Inspection.open(folder) as inspection:
                return cls(
                    inspection.folder.name, inspection.record_hashes(), inspection.origins(), inspection.generators()
                )
        except SnapshotInvalid:
            return cls()
