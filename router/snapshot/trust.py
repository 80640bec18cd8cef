"""Decides whether a snapshot may serve: signed by a trusted key, of the expected catalog, not older than what served.

See docs/decisions/signatures.md.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path

import msgspec

from router import contract
from router.contract import CATALOG_DB, Manifest
from router.errors import SettingsInvalid, SnapshotUntrusted
from router.files import read_bounded, read_in
from router.signing.envelope import MOST_BYTES, Statement
from router.signing.trusted_keys import KeySources, TrustedKeys
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.durable import replace_text
from router.snapshot.store.locking import lock_file
from router.snapshot.store.protocol import ReadableStore, SignedStore


class Trust:
    """What a router trusts of one catalog: keys, the catalog's name, and the newest statement that it served."""

    def __init__(
        self, keys: TrustedKeys, catalog: str, store: ReadableStore, state: "TrustState | None" = None
    ) -> None:
        self._keys, self.catalog, self._store, self._state = keys, catalog, store, state
        self._newest: Statement | None = None

    @classmethod
    def of(
        cls,
        store: ReadableStore,
        trusted_keys: KeySources | None,
        catalog: str | None = None,
        state: str | Path | None = None,
    ) -> "Trust | None":
        """Return what a router of a store trusts; None where no keys are given, and no signature is checked.

        Args:
            trusted_keys: Public keys (`ed25519:…`) and files of keys.
            catalog: The catalog's name; by default that of the store, for a path its folder's.
            state: A file in which the newest statement outlasts the process.

        Raises:
            SettingsInvalid: A key or the state cannot be read, or the catalog's name is not known.
        """
        if trusted_keys is None:
            if catalog is not None or state is not None:
                raise SettingsInvalid("catalog and trust_state are for signed snapshots: give trusted_keys too")
            return None
        keys = TrustedKeys(trusted_keys)
        if catalog is None and isinstance(store, SignedStore):
            catalog = store.catalog
        if not catalog:
            raise SettingsInvalid(f"{store.label} does not tell its catalog's name: give `catalog` with trusted_keys")
        return cls(keys, catalog, store, TrustState(Path(state)) if state is not None else None)

    def statement(self, folder: Path, data: bytes, manifest: Manifest) -> Statement:
        """Return the newest statement of a trusted key about a manifest, which `data` are the bytes of.

        Raises SnapshotUntrusted where there is none, or the snapshot is of another catalog.
        """
        if manifest.catalog != self.catalog:
            raise SnapshotUntrusted(
                f"{folder} is a snapshot of the catalog {manifest.catalog!r}, and {self.catalog!r} is expected"
            )
        found, reasons = [], []
        for name, envelope in self._envelopes(folder):
            try:
                statement = self._checked(envelope, data, manifest)
            except (ValueError, SettingsInvalid) as error:
                reasons.append(f"{name}: {error}")
            else:
                found.append(statement)
        if not found:
            why = "; ".join(reasons) or f"it has no {contract.SIGNATURE}"
            raise SnapshotUntrusted(f"{folder} is not signed by a trusted key: {why}")
        return max(found, key=lambda statement: statement.counter)

    def admit(self, folder: Path, data: bytes, manifest: Manifest) -> None:
        """Raise SnapshotUntrusted where a snapshot could not serve, by its manifest and the signature in a folder."""
        self.require_newest(folder, self.statement(folder, data, manifest))

    def require_newest(self, folder: Path, statement: Statement) -> None:
        """Raise SnapshotUntrusted where a newer snapshot, or another one of the same number, has served."""
        newest = self._newest_served()
        if newest is None or (statement.counter, statement.manifest_sha256) == (newest.counter, newest.manifest_sha256):
            return
        if statement.counter <= newest.counter:
            raise SnapshotUntrusted(
                f"{folder} has number {statement.counter}, and {newest.snapshot} with number {newest.counter} has "
                "served: an older snapshot serves again once it is signed anew, by "
                f"`quartermaster snapshots {self.catalog} --use {statement.snapshot} --sign-key FILE`"
            )

    def remember(self, folder: Path, statement: Statement) -> None:
        """Remember a statement as the newest that served. Raises SnapshotUntrusted where a newer one came between."""
        with self._state.locked() if self._state else nullcontext():
            self.require_newest(folder, statement)
            if self._state and self._state.newest(self.catalog) != statement:
                self._state.write(statement)
            self._newest = statement

    def _checked(self, envelope: bytes, data: bytes, manifest: Manifest) -> Statement:
        statement, _ = self._keys.statement(envelope)
        if statement.manifest_sha256 != hashlib.sha256(data).hexdigest():
            if statement.snapshot == manifest.snapshot:
                raise ValueError(f"{contract.MANIFEST} was changed after it was signed")
            raise ValueError(f"it signs another {contract.MANIFEST}, that of {statement.snapshot!r:.100}")
        if (statement.catalog, statement.snapshot) != (manifest.catalog, manifest.snapshot):
            raise ValueError(f"it signs {statement.snapshot!r:.100} of the catalog {statement.catalog!r:.100}")
        return statement

    def _envelopes(self, folder: Path) -> Iterator[tuple[str, bytes]]:
        """Yield the names and contents of the files that may hold a statement about a snapshot."""
        try:
            yield contract.SIGNATURE, read_in(folder, contract.SIGNATURE, MOST_BYTES)[0]
        except FileNotFoundError:
            pass
        except OSError as error:
            raise SnapshotUntrusted(f"{folder / contract.SIGNATURE} cannot be read: {error}") from error
        if isinstance(self._store, SignedStore) and (pointer := self._store.signed_pointer()):
            yield contract.POINTER_SIGNATURE, pointer

    def _newest_served(self) -> Statement | None:
        stored = self._state.newest(self.catalog) if self._state else None
        known = [statement for statement in (stored, self._newest) if statement is not None]
        return max(known, key=lambda statement: statement.counter, default=None)


_MOST_BYTES = 1 << 20


class TrustState:
    """The newest statements by catalog, in a file that several routers of one machine may share."""

    def __init__(self, path: Path) -> None:
        """Read the file once, to report an unreadable one at the start. Raises SettingsInvalid."""
        self._path = path
        try:
            self._read()
        except SnapshotUntrusted as error:
            raise SettingsInvalid(str(error)) from error

    def newest(self, catalog: str) -> Statement | None:
        """Return a catalog's newest statement that was served. Raises SnapshotUntrusted where it cannot be read."""
        return self._read().get(catalog)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other routers from writing inside the block. Raises SnapshotUntrusted where that cannot be."""
        try:
            with lock_file(self._path.with_name(f".{self._path.name}.lock")):
                yield
        except OSError as error:
            raise SnapshotUntrusted(
                f"the trust state {self._path} cannot be written: {error}. Its folder must be writable"
            ) from error

    def write(self, statement: Statement) -> None:
        """Remember a statement as its catalog's newest. The caller holds `locked`."""
        known = self._read() | {statement.catalog: statement}
        rows = {catalog: asdict(newest) for catalog, newest in sorted(known.items())}
        replace_text(self._path, json.dumps(rows, indent=2) + "\n")

    def _read(self) -> dict[str, Statement]:
        try:
            return msgspec.json.decode(read_bounded(self._path, _MOST_BYTES), type=dict[str, Statement])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise SnapshotUntrusted(
                f"the trust state {self._path} cannot be read: {error}. Restore it; without it a router takes any "
                "signed snapshot as its first, however old"
            ) from error


def open_trusted(folder: Path, trust: Trust, before: Snapshot | None = None) -> Snapshot:
    """Open a snapshot that is to serve. `before` is as in `Snapshot.open`.

    Raises SnapshotUntrusted where it is not signed, or older than what served, and SnapshotInvalid as `Snapshot.open`.
    """
    found: list[Statement] = []

    def inspect(folder: Path, data: bytes, manifest: Manifest) -> None:
        statement = trust.statement(folder, data, manifest)
        trust.require_newest(folder, statement)
        found.append(statement)

    opened = Snapshot.open(folder, whole=_has_database(folder), before=before, inspect=inspect)
    trust.remember(folder, found[0])  # last: a snapshot that does not open has not served
    return opened


def open_signed(folder: Path, trust: Trust) -> Snapshot:
    """Open a signed snapshot to look at it, however old. Raises as `open_trusted` does."""
    return Snapshot.open(folder, whole=_has_database(folder), inspect=trust.statement)


def _has_database(folder: Path) -> bool:
    """Return whether the folder has `catalog.duckdb` whole, which no router needs and people read."""
    return (folder / CATALOG_DB).is_file()
