"""Exported encoders, kept once a user: shared by all workspaces, checksummed, locked, written atomically."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from router.contract import ENCODER_MODEL, ENCODER_TOKENIZER, EncoderManifest
from router.errors import EncoderInvalid
from router.fingerprint import file_sha256, fingerprint

CACHE_VARIABLE = "QUARTERMASTER_CACHE"
# Counts changes to how exports are made. Operators of ONNX Runtime stay readable to its later versions.
EXPORT_VERSION = 2
EXPORT_FILES = (ENCODER_MODEL, ENCODER_TOKENIZER)
_RECORD = "export.json"
# The longest export seen is a minute's; then another process hangs, and is not waited for.
_LONGEST_WAIT_S = 600.0

Make = Callable[[Path], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Export:
    """An exported encoder's folder, what a manifest says of it, and how far it agrees with the model."""

    folder: Path
    spec: EncoderManifest
    agreement: dict[str, float]


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of a user's exported encoders: QUARTERMASTER_CACHE, else the platform's folder for caches.

    Everything in it can be made again: to clear it, delete it. Raises EncoderInvalid for the home of a user that there
    is not.
    """
    chosen = (os.environ if environment is None else environment).get(CACHE_VARIABLE)
    if chosen:
        try:
            return Path(chosen).expanduser() / "encoders"
        except RuntimeError as error:
            raise EncoderInvalid(f"{CACHE_VARIABLE} is {chosen!r}: {error}") from None
    from platformdirs import user_cache_path

    return user_cache_path("quartermaster", appauthor=False) / "encoders"


def read_spec(folder: Path) -> EncoderManifest:
    """Return what an export's own record says of it. Raises EncoderInvalid where it cannot be read."""
    try:
        return EncoderManifest(**json.loads((folder / _RECORD).read_text(encoding="utf-8"))["spec"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EncoderInvalid(f"{folder} is no exported encoder: {error}") from error


class ExportCache:
    """Exports in the first of some folders that can be written.

    `note` is told what a person should know; `begin` is called before an export is made, or waited for.
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
        self._told: set[str] = set()

    def find(self, spec: EncoderManifest) -> Export | None:
        """Return the export of a spec, its checksums verified; None where there is none, or it is damaged."""
        return next(filter(None, (_read(folder / _name(spec), spec) for folder in self._folders)), None)

    def find_named(self, model: str) -> Export | None:
        """Return an export of a model whose weights are not here, by its name; None where there is none that is whole.

        The smallest precision goes first, as in `get` by "auto"; of several revisions the first by folder's name.
        """
        for folder in self._folders:
            for precision in ("int8", "fp32"):
                for record in sorted(folder.glob(f"*-{precision}-*/{_RECORD}")):
                    try:
                        spec = read_spec(record.parent)
                    except EncoderInvalid:
                        continue
                    # The name holds the export's version: an older router's is not this one's.
                    if spec.model == model and record.parent.name == _name(spec) and (found := self.find(spec)):
                        return found
        return None

    def damaged(self, spec: EncoderManifest) -> Path | None:
        """Return the folder of an export that is there and cannot be used; None where there is none."""
        folders = (folder / _name(spec) for folder in self._folders)
        return next((folder for folder in folders if folder.is_dir() and _read(folder, spec) is None), None)

    def get(self, spec: EncoderManifest, make: Make) -> Export:
        """Return the export of a spec. Where there is none, `make` writes its files into a folder and returns how far
        they agree with the model; of two processes one makes it and the other waits.

        Raises EncoderInvalid where it can be written nowhere, and what `make` raises.
        """
        if found := self.find(spec):
            return found
        self._begin()
        problems: list[str] = []
        for folder in self._folders:
            if problems:
                self._tell(f"the encoder's cache cannot be written ({problems[-1]}): it is kept in {folder}")
            try:
                with self._locked(folder, _name(spec)):
                    return self._made(folder / _name(spec), spec, make)
            except (OSError, NotImplementedError) as error:  # the latter: a file system without locks
                problems.append(str(error) or type(error).__name__)
        raise EncoderInvalid(f"the exported encoder can be written nowhere: {'; '.join(problems)}")

    def refusal(self, spec: EncoderManifest) -> str | None:
        """Return why an export of a spec was refused before; None where it was not."""
        for folder in self._folders:
            try:
                return (folder / f"{_name(spec)}.refused").read_text(encoding="utf-8").strip()
            except OSError:
                continue
        return None

    def refuse(self, spec: EncoderManifest, reason: str) -> None:
        """Keep in mind that an export of a spec is not good enough; where that cannot be written it is tried again."""
        for folder in self._folders:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{_name(spec)}.refused").write_text(f"{reason}\n", encoding="utf-8")
                return
            except OSError:
                continue

    def _tell(self, message: str) -> None:
        """Note something once."""
        if message not in self._told:
            self._told.add(message)
            self._note(message)

    def _made(self, folder: Path, spec: EncoderManifest, make: Make) -> Export:
        """The export, under its lock."""
        if found := _read(folder, spec):
            return found  # of the process that was waited for
        if folder.exists():
            self._tell(f"the exported encoder in {folder} is damaged: it is made again")
        making = folder.with_name(f".making-{folder.name}")
        shutil.rmtree(making, ignore_errors=True)  # of a killed process
        try:
            making.mkdir()
            agreement = dict(make(making))
            digests = {name: file_sha256(making / name) for name in EXPORT_FILES}
            record = {"spec": asdict(spec), "agreement": agreement, "files": digests}
            (making / _RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            making.rename(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)
        return Export(folder, spec, agreement)

    @contextmanager
    def _locked(self, folder: Path, name: str) -> Iterator[None]:
        """Hold the lock of an export, which ends with the process that holds it."""
        from filelock import FileLock, Timeout

        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f".{name}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            self._tell("another process exports this encoder: waiting for it")
            lock.acquire(timeout=_LONGEST_WAIT_S)
        try:
            yield
        finally:
            lock.release()


def _name(spec: EncoderManifest) -> str:
    """The name of an export's folder: equal for equal exports, and readable."""
    model = re.sub(r"[^A-Za-z0-9._-]+", "-", spec.model).strip(".-")
    return f"{model}-{spec.precision}-{fingerprint([EXPORT_VERSION, asdict(spec)])[:16]}"


def _read(folder: Path, spec: EncoderManifest) -> Export | None:
    """An export whose files are those of its record; None where any is not."""
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        whole = all(file_sha256(folder / name) == record["files"][name] for name in EXPORT_FILES)
        return Export(folder, spec, dict(record["agreement"])) if whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
