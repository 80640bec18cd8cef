"""What lies in the bucket, read without any of the code that wrote it."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import obstore
from obstore.store import S3Store

CURRENT, CLOCK, FILES, SNAPSHOTS = "CURRENT", "clock", "files/", "snapshots/"


@dataclass(frozen=True)
class Contents:
    """A catalog in a bucket at one moment.

    Attributes:
        head: What CURRENT holds; empty where it does not exist.
        manifests: By snapshot, its manifest.
        modified: When each object was written, by its name.
    """

    head: dict[str, Any]
    manifests: dict[str, dict[str, Any]]
    modified: dict[str, datetime]

    @property
    def current(self) -> str | None:
        """The snapshot that serves."""
        return self.head.get("snapshot")

    @property
    def kept(self) -> dict[str, dict[str, Any]]:
        """The manifests of the snapshots that retention has not removed."""
        return {name: one for name, one in self.manifests.items() if name not in self.head.get("removed", {})}


@dataclass
class BucketReader:
    """Reads a catalog in a bucket, past every proxy. Objects that never change are read once."""

    store: S3Store
    folder: Path
    _whole: set[str] = field(default_factory=set)
    _descriptions: dict[str, dict[str, str]] = field(default_factory=dict)

    def read(self) -> Contents:
        """Return what lies in the bucket."""
        modified = {one["path"]: one["last_modified"] for page in obstore.list(self.store) for one in page}
        manifests = {
            name.split("/")[1]: json.loads(self._get(name)) for name in modified if name.endswith("/manifest.json")
        }
        return Contents(json.loads(self._get(CURRENT)) if CURRENT in modified else {}, manifests, modified)

    def violations(self, contents: Contents) -> Iterator[str]:
        """Yield a sentence for each reference that leads nowhere, and each object that is not what its name says."""
        for snapshot, manifest in contents.kept.items():
            if missing := sorted(
                name for name, sha256 in manifest["files"].items() if f"{FILES}{sha256}" not in contents.modified
            ):
                yield f"{snapshot} refers to objects that are missing: {', '.join(missing)}"
            if manifest["snapshot"] != snapshot:
                yield f"the manifest of {snapshot} is that of {manifest['snapshot']}"
        if contents.current is not None and contents.current not in contents.kept:
            yield f"CURRENT names {contents.current}, which is not in the bucket"
        for name in contents.modified:
            if name.startswith(FILES) and name not in self._whole:
                if hashlib.sha256(self._get(name)).hexdigest() != name.removeprefix(FILES):
                    yield f"{name} is not what its name says"
                self._whole.add(name)
            elif name not in (CURRENT, CLOCK) and not name.startswith((FILES, SNAPSHOTS)):
                yield f"nobody knows what {name} is"

    def orphans(self, contents: Contents, before: datetime, grace: timedelta) -> list[str]:
        """Return the objects that no manifest refers to and that were past their grace period at a time."""
        referred = {f"{FILES}{sha256}" for one in contents.manifests.values() for sha256 in one["files"].values()}
        return sorted(
            name
            for name, modified in contents.modified.items()
            if name.startswith(FILES) and name not in referred and modified < before - grace
        )

    def descriptions(self, contents: Contents, snapshot: str) -> dict[str, str]:
        """Return the descriptions of a snapshot's tools, by tool id."""
        if snapshot not in self._descriptions:
            database = self.folder / f"{snapshot}.duckdb"
            sha256 = contents.manifests[snapshot]["files"]["catalog.duckdb"]
            database.write_bytes(self._get(f"{FILES}{sha256}"))
            with duckdb.connect(str(database), read_only=True) as connection:
                rows = connection.execute("SELECT tool_id, description FROM tools").fetchall()
            self._descriptions[snapshot] = dict(rows)
            database.unlink()
        return self._descriptions[snapshot]

    def _get(self, name: str) -> bytes:
        return bytes(obstore.get(self.store, name).bytes())
