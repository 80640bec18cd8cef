"""Follow the references of an API document into the files that it is split into.

They become references within one document: `ops/list.yml#/get` is `#/x-files/ops~1list.yml/get`. A file is read when
something first looks into it; where that is not possible, looking raises NotFollowed.
"""

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from pipeline.errors import RunAborted
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.document import read_document
from router.tools.definitions.json_values import escape_pointer_part, unescape_pointer_part

_IN_FILE = re.compile(r"#/x-files/([^/\s]+)(/?)")
_SUFFIXES = (".json", ".yaml", ".yml")


class NotFollowed(LookupError):
    """A reference leads to a file that is not read. The message says why, as a sentence without its subject."""


Opener = Callable[[str, LimitsSettings], tuple[Any, int]]
"""Returns the value of a file and its bytes, by its address or its path from the document. Raises NotFollowed."""


def whole_document(document: dict[str, Any], root: str, limits: LimitsSettings, open_file: Opener) -> dict[str, Any]:
    """Return a document, of the file or address `root`, with all files. Its own references are changed in place."""
    files = _Files(root, limits, open_file)
    files.localize(document, root)
    return {**document, "x-files": files}


def as_written(text: str) -> str:
    """Return a text with references into files as people write them: `ops/list.yml#/get`."""
    return _IN_FILE.sub(lambda found: unescape_pointer_part(found[1]) + "#/" * bool(found[2]), text)


def read_file(path: Path, limits: LimitsSettings) -> tuple[Any, int]:
    """Return the value of a file and its bytes. Raises NotFollowed where it is too large or cannot be parsed."""
    if (size := path.stat().st_size) > (most := limits.document_bytes):
        raise NotFollowed(f"has {size:,} bytes, and limits.document_bytes leaves {most:,} for it")
    try:
        return read_document(path, limits), size
    except RunAborted as error:
        raise NotFollowed(str(error).removeprefix(f"the source {path} ")) from None


def files_beside(path: Path) -> Opener:
    """Return what opens the files in a document's folder and the folders in it, but nothing outside, nor hidden."""
    folder = path.parent.resolve()

    def opened(name: str, limits: LimitsSettings) -> tuple[Any, int]:
        if urlsplit(name).scheme or name.startswith("//"):
            raise NotFollowed("is at an address, and a file refers to files alone")
        try:
            file = folder.joinpath(unquote(name)).resolve()  # where links lead
            if not file.is_relative_to(folder):
                raise NotFollowed("lies outside of the document's folder")
            if "/." in f"/{file.relative_to(folder).as_posix()}" or file.suffix.lower() not in _SUFFIXES:
                raise NotFollowed(f"is hidden, or no file of {', '.join(_SUFFIXES)}")
            if file.is_file():
                return read_file(file, limits)
        except (OSError, ValueError, RuntimeError):  # a name that is too long or holds NUL, links in a circle
            pass
        raise NotFollowed("is no file")

    return opened


class _Files(dict[str, Any]):
    """The files by address or path, as far as they were read."""

    def __init__(self, root: str, limits: LimitsSettings, open_file: Opener) -> None:
        super().__init__()
        self._root, self._limits, self._open = root, limits, open_file
        self._left = limits.document_bytes
        self._named: set[str] = set()
        self._failed: dict[str, str] = {}

    def __contains__(self, key: object) -> bool:
        return True  # so that looking into it says why there is nothing

    def __missing__(self, key: str) -> Any:
        try:
            if key in self._failed or key not in self._named:  # the latter is written by hand in the inner form
                raise NotFollowed(self._failed.get(key, "is no file"))
            if len(self) + len(self._failed) >= (most := self._limits.referenced_files):
                raise NotFollowed(f"is one of more than the {most:,} files of limits.referenced_files")
            value, size = self._open(key, self._limits.model_copy(update={"document_bytes": self._left}))
        except NotFollowed as error:
            self._failed[key] = str(error)
            raise
        self._left -= size
        self.localize(value, key)
        self[key] = value
        return value

    def localize(self, value: Any, file: str) -> None:
        """Make every reference of a file one within the whole document. Linear, also where YAML's aliases share."""
        seen: set[int] = set()
        waiting = [value]
        while waiting:
            part = waiting.pop()
            if not isinstance(part, dict | list) or id(part) in seen:
                continue
            seen.add(id(part))
            if isinstance(part, dict) and isinstance(reference := part.get("$ref"), str):
                part["$ref"] = self._local(reference, file)
            waiting.extend(part.values() if isinstance(part, dict) else part)

    def _local(self, reference: str, file: str) -> str:
        name, _, fragment = reference.partition("#")
        try:
            key = _joined(file, name) if name else file
        except ValueError:
            key = name
            self._failed[key] = "is no address"
        if key == self._root:
            return f"#{fragment}"
        if fragment and not fragment.startswith("/"):
            key, fragment = f"{key}#{fragment}", ""
            self._failed[key] = "is an anchor, and only JSON pointers are followed"
        self._named.add(key)
        return f"#/x-files/{escape_pointer_part(key.replace('%', '%25'))}{fragment}"


def _joined(file: str, name: str) -> str:
    """Return where a reference of a file leads. A `$` of it is no variable of the environment. Raises ValueError."""
    if not (urlsplit(file).scheme or ":" in name or name.startswith("//")):
        return posixpath.normpath(posixpath.join(posixpath.dirname(file), name))
    return urljoin(file, name.replace("$", "%24"))
