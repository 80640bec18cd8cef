"""Objects of a bucket, read and written through obstore. Every error is an OSError that names the object."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from router.distribution import install_command
from router.errors import SettingsInvalid
from router.snapshot.store.bucket.connecting import connect
from router.snapshot.store.bucket.daemons import interruptible
from router.snapshot.store.bucket.url import checked_url, folder_of
from router.snapshot.store.locking import lock_file
from router.snapshot.store.protocol import StoreChanged, StoreUnavailable

PART = 8 << 20  # bytes of a part; a larger object is sent in parts
_PARTS_AT_ONCE = 2
_LOCK = ".lock"
_READS = 3
_NO_BUCKET = "the bucket does not exist"
_NO_BUCKET_CODES = ("<Code>NoSuchBucket<", "<Code>ContainerNotFound<")  # of S3 and Google Cloud Storage, and of Azure

_Result = TypeVar("_Result")


class ObjectUnavailable(StoreUnavailable):
    """An object could not be read or written: the bucket does not answer, or refuses. Another try may succeed."""


class ObjectChanged(StoreChanged):
    """Somebody else wrote an object since it was read, so the conditional write was refused: nothing was written."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object in a listing: its name, size in bytes, and when it was written, with a time zone."""

    name: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """Which content of an object was read: S3 and Azure compare the ETag, Google Cloud Storage the generation."""

    etag: str
    generation: str | None

    @property
    def condition(self) -> dict[str, str]:
        """Return the mode in which obstore replaces only this version."""
        return {"e_tag": self.etag, **({"version": self.generation} if self.generation else {})}


class Objects:
    """The objects of one catalog. Names are relative to its URL.

    May be used from any thread. On the main thread, signals interrupt the wait for an answer.
    """

    def __init__(self, url: str, patience_s: float = 60.0, request_s: float = 60.0) -> None:
        """Connect to nothing yet. What fails is tried again, with growing pauses, for `patience_s` seconds.

        A request may take `request_s` seconds, so that no call lasts longer than both together. Raises SettingsInvalid
        for a wrong URL, and where obstore is not installed.
        """
        self.url = checked_url(url)
        try:
            import obstore
        except ImportError as error:
            raise SettingsInvalid(f"{self.url}: buckets need obstore: {install_command('bucket')}") from error
        self._obstore: Any = obstore
        self._folder = folder_of(self.url)
        self._patience_s = patience_s
        try:
            self._store: Any = connect(self.url, patience_s, request_s)
        except (ValueError, obstore.exceptions.BaseError) as error:
            raise SettingsInvalid(f"{self.url} cannot be used: {_first_line(error)}") from error

    def read(self, name: str, most: int) -> tuple[bytes, ObjectVersion]:
        """Return an object of at most `most` bytes, and its version. Raises FileNotFoundError and ObjectUnavailable."""
        with self._explained(name):
            return self._whole(name, most)

    def read_if_changed(
        self, name: str, version: ObjectVersion | None, most: int
    ) -> tuple[bytes, ObjectVersion] | None:
        """Return as `read` does; None where the object still has this version."""
        if version is None:
            return self.read(name, most)
        try:
            with self._explained(name):
                return self._whole(name, most, if_none_match=version.etag)
        except self._obstore.exceptions.NotModifiedError:
            return None

    def stream_range(self, name: str, start: int, length: int, chunk: int = 1 << 20) -> Iterator[bytes]:
        """Yield the bytes of an object from `start` on, `length` of them, or more where the server errs.

        Raises FileNotFoundError and ObjectUnavailable.
        """
        with self._explained(name):
            options = {"range": (start, start + length)}
            answer = self._call(self._obstore.get, name, options=options)
            yield from map(bytes, self._each(answer.stream(min_chunk_size=chunk)))

    def create(self, name: str, data: bytes) -> bool:
        """Write an object that does not exist; return False where it does. Raises ObjectUnavailable."""
        try:
            with self._explained(name, written=True):
                self._call(self._obstore.put, name, data, mode="create", use_multipart=False)
        except ObjectChanged:
            return False
        return True

    def put(self, name: str, content: bytes | Iterable[bytes]) -> None:
        """Write an object, whatever is there: bytes at once, pieces in parts. Raises ObjectUnavailable.

        What the pieces raise is raised, and nothing is written.
        """
        whole = isinstance(content, bytes)
        with self._explained(name, written=True):
            self._call(
                self._obstore.put,
                name,
                content,
                use_multipart=not whole,
                chunk_size=PART,
                max_concurrency=_PARTS_AT_ONCE,
            )

    def replace(self, name: str, data: bytes, version: ObjectVersion | None) -> None:
        """Write an object that has this version, or where that is None does not exist.

        Raises ObjectChanged where it has another, and ObjectUnavailable: then it may have been written nevertheless.
        Both may be raised where a lost answer hid that the write succeeded.
        """
        if version is not None and self._folder is not None:
            self._replace_file(name, data, version)
            return
        mode = "create" if version is None else version.condition
        try:
            with self._explained(name):
                self._call(self._obstore.put, name, data, mode=mode, use_multipart=False)
        except FileNotFoundError as error:
            raise ObjectChanged(f"{self.url}/{name} was removed by somebody else") from error

    def _replace_file(self, name: str, data: bytes, version: ObjectVersion) -> None:
        """Replace a file as `replace` does: obstore compares no ETags in a folder, so a lock does for this machine."""
        assert self._folder is not None
        with lock_file(self._folder / _LOCK), self._explained(name):
            if self._call(self._obstore.head, name)["e_tag"] != version.etag:
                raise ObjectChanged(f"{self.url}/{name} was written by somebody else")
            self._call(self._obstore.put, name, data, use_multipart=False)

    def stat(self, name: str) -> StoredObject | None:
        """Return what a listing would tell of an object; None where there is none. Raises ObjectUnavailable."""
        try:
            with self._explained(name):
                return _stored(self._call(self._obstore.head, name))
        except FileNotFoundError:
            return None

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Yield the objects whose names begin with whole folders `prefix`. Raises ObjectUnavailable."""
        with self._explained(prefix):
            for batch in self._each(self._obstore.list(self._store, prefix=prefix.rstrip("/"))):
                yield from map(_stored, batch)

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects; missing ones are ignored. Raises ObjectUnavailable."""
        for name in names:
            try:
                with self._explained(name):
                    self._call(self._obstore.delete, name)
            except FileNotFoundError:
                continue

    def _whole(self, name: str, most: int, **options: str) -> tuple[bytes, ObjectVersion]:
        """Return as `read` does. obstore continues what broke off, but not where the object differs by then."""
        end = time.monotonic() + self._patience_s
        for left in reversed(range(_READS)):
            answer = self._call(self._obstore.get, name, options=options or None)
            meta = answer.meta
            if meta["size"] > most:
                raise OSError(f"{self.url}/{name} is larger than {most:,} bytes, the most that is read")
            try:
                return bytes(self._wait(answer.bytes)), ObjectVersion(str(meta["e_tag"]), meta["version"])
            except self._obstore.exceptions.BaseError:
                if not left or time.monotonic() > end:
                    raise
        raise AssertionError  # the last one returns or raises

    def _call(self, function: Callable[..., Any], name: str, *args: object, **options: object) -> Any:
        """Call a function of obstore for an object."""
        return self._wait(partial(function, self._store, name, *args, **options))

    def _each(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield what an iterator of obstore gives."""
        while (batch := self._wait(partial(next, batches, None))) is not None:
            yield batch

    def _wait(self, call: Callable[[], _Result]) -> _Result:
        """Return what a call returns. Folders answer at once, and the call must end inside the lock of `replace`."""
        return call() if self._folder is not None else interruptible(call)

    @contextmanager
    def _explained(self, name: str, *, written: bool = False) -> Iterator[None]:
        """Turn obstore's errors into an OSError. An object that was `written` lacks no object, but a bucket."""
        errors = self._obstore.exceptions
        place = f"{self.url}/{name}"
        try:
            yield
        except (FileNotFoundError, errors.NotFoundError) as error:
            if isinstance(error, OSError) and error.filename is not None:  # a file of this machine that is sent
                raise
            if written or _lacks_bucket(error):
                raise ObjectUnavailable(f"{place}: {_NO_BUCKET}") from error
            raise FileNotFoundError(f"{place} does not exist") from error
        except (errors.AlreadyExistsError, errors.PreconditionError) as error:
            raise ObjectChanged(f"{place} was written by somebody else") from error
        except errors.NotModifiedError:
            raise
        except (errors.PermissionDeniedError, errors.UnauthenticatedError) as error:
            raise ObjectUnavailable(
                f"{place}: the bucket refuses the credentials ({_first_line(error)}). They come from "
                "the environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            ) from error
        except errors.BaseError as error:
            problem = (
                _NO_BUCKET
                if _lacks_bucket(error)
                else f"the bucket does not answer as it should ({_first_line(error)})"
            )
            raise ObjectUnavailable(f"{place}: {problem}") from error


def _stored(meta: Any) -> StoredObject:
    return StoredObject(meta["path"], meta["size"], meta["last_modified"])


def _lacks_bucket(error: Exception) -> bool:
    return any(code in str(error) for code in _NO_BUCKET_CODES)


def _first_line(error: Exception) -> str:
    """Return the first line of an error of obstore, which goes on with a debug text."""
    return str(error).split("\n")[0].strip()[:300]
