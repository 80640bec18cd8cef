"""Models of the hub: from the cache that huggingface_hub shares between programs, else downloaded with progress.

A model in the cache stays as it is, whatever the hub has meanwhile, and serves without the hub. The checksums of the
large files are those by which the hub knows them.
"""

import errno
import fnmatch
from functools import partial
from pathlib import Path
from shutil import disk_usage
from threading import Lock
from typing import Any

import httpx2
from huggingface_hub import HfApi, constants, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
from huggingface_hub.utils.tqdm import tqdm

from pipeline.encoders.delta import CHECKSUMS_FILE
from pipeline.encoders.export import PACKAGED, TOOLS_ENCODER
from pipeline.encoders.export.checksums import checksums_of
from pipeline.errors import RunAborted
from pipeline.progress import Progress

_FILES = ["*.json", "*.txt", "*.safetensors", "[0-9]_*/*", CHECKSUMS_FILE]
_OLD_WEIGHTS = "pytorch_model.bin"  # only where there are no safetensors: often both are
_OTHER_FORMATS = ("onnx/", "openvino/")
_ANSWER_S = 5.0
_MOST_REASON = 200  # characters
_SHA256 = 64  # characters. Small files are known by the hash of git
_FAULTS = (httpx2.HTTPError, HFValidationError, OSError)


def find_on_hub(model: str, progress: Progress, *, may_ask: bool = True) -> Path:
    """Return the folder of a model of the hub by its id, or by `id@revision`.

    Where the hub has another revision than the cache, a note says so. It is not asked for the encoder that serves:
    without `may_ask`. Raises RunAborted where the model cannot be had, a checksum is wrong, or the disk has no room.
    """
    name, _, revision = model.partition("@")
    try:
        if (folder := _cached(name, revision or None)) is None:
            if not may_ask:
                raise RunAborted(
                    f"the snapshot that serves has the encoder {model!r}, which is not in {constants.HF_HUB_CACHE}, "
                    'and "auto" takes no other: name one in vectors.encoder, or by --encoder'
                )
            folder = _downloaded(name, revision or None, progress)
        elif may_ask and folder.name != revision and not constants.is_offline_mode():
            _note_change(name, revision or None, folder.name, progress)
    except _FAULTS as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise RunAborted(f"{model} does not fit on the disk of {constants.HF_HUB_CACHE}: {error}") from error
        raise RunAborted(
            f"the encoder {model!r} is not a folder here, and the hub does not provide it ({_reason(error)}). Name a "
            f"folder, 'bge', {TOOLS_ENCODER!r}, {PACKAGED!r}, 'auto' or 'none'"
        ) from error
    _check(model, folder)
    return folder


def _cached(name: str, revision: str | None) -> Path | None:
    """Return the folder of a model that is wholly in the cache: another program may have fetched some files alone."""
    find = partial(snapshot_download, name, revision=revision, local_files_only=True)
    try:
        folder = Path(find(allow_patterns=_FILES, ignore_patterns=[*_OTHER_FORMATS]))
    except LocalEntryNotFoundError:
        return None
    is_listed = (folder.parents[1] / "trees" / f"{folder.name}.json").exists() or (folder / "modules.json").exists()
    has_weights = any(folder.glob("*.safetensors")) or (folder / _OLD_WEIGHTS).exists()
    return folder if is_listed and has_weights else None


def _note_change(name: str, revision: str | None, commit: str, progress: Progress) -> None:
    """Say where the hub has another commit of a revision than `commit`, which is in the cache."""
    try:
        latest = HfApi().model_info(name, revision=revision, timeout=_ANSWER_S).sha
    except _FAULTS as error:
        progress.note(f"{name} is taken from the cache: the hub does not say whether it has changed ({_reason(error)})")
        return
    if latest != commit:
        progress.note(
            f"the hub has another revision of {name}, {latest}: this build keeps {commit}, which is in the cache. "
            f'encoder = "{name}@{latest}" takes the other'
        )


def _downloaded(name: str, revision: str | None, progress: Progress) -> Path:
    """Download what is missing of a model. Raises RunAborted where the disk has no room, else one of _FAULTS."""
    info = HfApi().model_info(name, revision=revision, files_metadata=True, timeout=_ANSWER_S)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    has_safetensors = any(file.endswith(".safetensors") and "/" not in file for file in sizes)
    patterns = _FILES if has_safetensors else [*_FILES, _OLD_WEIGHTS]
    matching = {file for pattern in patterns for file in fnmatch.filter(sizes, pattern)}
    wanted = [file for file in matching if not file.startswith(_OTHER_FORMATS)]
    missing = sum(sizes[file] for file in wanted if try_to_load_from_cache(name, file, revision=info.sha) is None)
    Path(constants.HF_HUB_CACHE).mkdir(parents=True, exist_ok=True)
    free = disk_usage(constants.HF_HUB_CACHE).free
    if free < missing:
        raise RunAborted(
            f"{name} takes {missing / 1e6:,.0f} MB, and the disk of {constants.HF_HUB_CACHE} has {free / 1e6:,.0f} MB "
            "free: make room, or set HF_HOME to a folder on another disk"
        )
    progress.note(f"downloading {name}, {missing / 1e6:,.0f} MB, into {constants.HF_HUB_CACHE}")
    progress.start("download", round(missing / 1e6))
    return Path(snapshot_download(name, revision=revision, allow_patterns=wanted, tqdm_class=_bars(progress)))


def _bars(progress: Progress) -> type[tqdm]:
    """Return a class of silent bars that move `progress` by megabytes.

    There are two of bytes, for what has come and what is written, and one of files.
    """
    lock, reached = Lock(), 0

    class Bar(tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            self.of_bytes = options.get("unit") == "B"
            super().__init__(*args, **{**options, "disable": True})  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> None:
            nonlocal reached
            with lock:
                self.n += n or 0
                if self.of_bytes and (ahead := int(self.n / 1e6) - reached) > 0:
                    reached += ahead
                    progress.advance(ahead)

    return Bar


def _check(model: str, folder: Path) -> None:
    """Raise RunAborted where a large file is not the one that the hub has, and remove it where that is allowed."""
    blobs = {path: path.resolve() for path in folder.rglob("*") if path.is_file()}
    known = {path: blob.name for path, blob in blobs.items() if len(blob.name) == _SHA256}
    for path, digest in checksums_of(known).items():
        if digest != known[path]:
            way_out = "It was removed: the next build downloads it again"
            try:
                blobs[path].unlink()
                path.unlink()
            except OSError as error:
                way_out = f"Remove {blobs[path]}, or set HF_HOME to a folder that can be written ({error.strerror})"
            raise RunAborted(
                f"{path.name} of {model} is damaged: its sha256 is {digest[:12]}…, the hub has {known[path][:12]}…. "
                f"{way_out}"
            )


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:_MOST_REASON] or type(error).__name__
