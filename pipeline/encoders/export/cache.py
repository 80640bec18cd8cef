"""The cache of exported encoders, one per user: shared by all workspaces, checksummed, locked, written atomically."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from router.contract import ENCODER_MODEL, ENCODER_TOKENIZER, EncoderManifest
from router.encoding.encoder import EXPORT_RECORD, read_spec
from router.errors import EncoderInvalid
from router.fingerprint import file_sha256, fingerprint
from router.user_cache import user_cache

# Raise it with any change to how exports are made. Later versions of ONNX Runtime read its older operators.
EXPORT_VERSION = 3
EXPORT_FILES = (ENCODER_MODEL, ENCODER_TOKENIZER)
# Exports take a minute at most: a process that holds the lock for longer hangs.
_MAX_WAIT_S = 600.0

Make = Callable[[Path], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Export:
    """An exported encoder: its folder, its manifest entry, and its agreement with the model (cosines by name)."""

    folder: Path
    spec: EncoderManifest
    agreement: dict[str, float]

    @property
    def key(self) -> str:
        """Return the part of a document vector's cache key that is not its text: vectors of two are never mixed."""
        row = asdict(self.spec)
        measures = ("revision", "pooling", "max_length", "precision", "document_prefix")
        return fingerprint([EXPORT_VERSION, *(row[name] for name in measures)])[:16]


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of a user's exported encoders. Raises SettingsInvalid as `user_cache` does."""
    return user_cache(environment) / "encoders"


class ExportCache:
    """Finds and stores exports in several folders; it writes to the first that can be written.

    `note` is called with messages for the user; `begin` is called before an export is made or waited for.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        note: Callable[[str], object] = lambda message: None,
        begin: Callable[[], object] = lambda: None,
    ) -> None:
        self._folders = folders
        self._note = note
        self._begin = begin
        self._noted: set[str] = set()

    def find(self, spec: EncoderManifest) -> Export | None:
        """Return the export of a spec, with verified checksums; None where it is missing or damaged."""
        found = next(filter(None, (_read(folder / _name(spec), spec) for folder in self._folders)), None)
        if found:
            with suppress(OSError):  # the cache of somebody else, whose own uses count
                os.utime(found.folder / EXPORT_RECORD)  # for `collection`
        return found

    def find_named(self, model: str) -> Export | None:
        """Return an undamaged export of a model by its name, for models whose weights are not installed; else None.

        int8 comes before fp32; of several revisions the first by folder name is returned.
        """
        for folder in self._folders:
            for precision in ("int8", "fp32"):
                for record in sorted(folder.glob(f"*-{precision}-*/{EXPORT_RECORD}")):
                    try:
                        spec = read_spec(record.parent)
                    except EncoderInvalid:
                        continue
                    # The folder's name holds the export version: exports of an older router are passed over.
                    if spec.model == model and record.parent.name == _name(spec) and (export := self.find(spec)):
                        return export
        return None

    def damaged(self, spec: EncoderManifest) -> Path | None:
        """Return the folder of an export that exists but cannot be used; None where there is none."""
        folders = (folder / _name(spec) for folder in self._folders)
        return next((folder for folder in folders if folder.is_dir() and _read(folder, spec) is None), None)

    def get(self, spec: EncoderManifest, make: Make) -> Export:
        """Return the export of a spec, made where it is missing.

        `make` writes its files into a folder and returns their agreement with the model. Of two processes one makes it
        and the other waits. Raises EncoderInvalid where no folder can be written, and whatever `make` raises.
        """
        if export := self.find(spec):
            return export
        self._begin()
        problems: list[str] = []
        for folder in self._folders:
            if problems:
                self._note_once(f"the encoder's cache cannot be written ({problems[-1]}): it is kept in {folder}")
            try:
                with self._locked(folder, _name(spec)):
                    return self._make(folder / _name(spec), spec, make)
            except (OSError, NotImplementedError) as error:  # the latter: a file system without locks
                problems.append(str(error) or type(error).__name__)
        raise EncoderInvalid(f"the exported encoder can be written nowhere: {'; '.join(problems)}")

    def refusal(self, spec: EncoderManifest) -> str | None:
        """Return the reason that `refuse` recorded for a spec; None where it recorded none."""
        for folder in self._folders:
            try:
                return (folder / f"{_name(spec)}.refused").read_text(encoding="utf-8").strip()
            except OSError:
                continue
        return None

    def refuse(self, spec: EncoderManifest, reason: str) -> None:
        """Record why an export of a spec is not good enough. Does nothing where no folder can be written."""
        for folder in self._folders:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{_name(spec)}.refused").write_text(f"{reason}\n", encoding="utf-8")
                return
            except OSError:
                continue

    def _note_once(self, message: str) -> None:
        if message not in self._noted:
            self._noted.add(message)
            self._note(message)

    def _make(self, folder: Path, spec: EncoderManifest, make: Make) -> Export:
        """Make the export, and move it to its folder when it is complete. The caller holds its lock."""
        if export := _read(folder, spec):
            return export  # made by the process that was waited for
        if folder.exists():
            self._note_once(f"the exported encoder in {folder} is damaged: it is made again")
        making = folder.with_name(f".making-{folder.name}")
        shutil.rmtree(making, ignore_errors=True)  # left by a killed process
        try:
            making.mkdir()
            agreement = dict(make(making))
            digests = {name: file_sha256(making / name) for name in EXPORT_FILES}
            record = {"spec": asdict(spec), "agreement": agreement, "files": digests}
            (making / EXPORT_RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            making.rename(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)
        return Export(folder, spec, agreement)

    @contextmanager
    def _locked(self, folder: Path, name: str) -> Iterator[None]:
        """Hold the lock of an export; the system releases it when the process ends."""
        from filelock import FileLock, Timeout

        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f".{name}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            self._note_once("another process exports this encoder: waiting for it")
            lock.acquire(timeout=_MAX_WAIT_S)
        try:
            yield
        finally:
            lock.release()


def _name(spec: EncoderManifest) -> str:
    """Return the folder name of an export: readable, and equal for equal specs."""
    model = re.sub(r"[^A-Za-z0-9._-]+", "-", spec.model).strip(".-")
    row = {key: value for key, value in asdict(spec).items() if value or key != "document_prefix"}  # as it ever was
    return f"{model}-{spec.precision}-{fingerprint([EXPORT_VERSION, row])[:16]}"


def _read(folder: Path, spec: EncoderManifest) -> Export | None:
    """Return the export in a folder; None where a file is missing or does not match its checksum."""
    try:
        record = json.loads((folder / EXPORT_RECORD).read_text(encoding="utf-8"))
        is_intact = all(file_sha256(folder / name) == record["files"][name] for name in EXPORT_FILES)
        return Export(folder, spec, dict(record["agreement"])) if is_intact else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
