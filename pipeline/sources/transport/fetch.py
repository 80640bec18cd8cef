"""Fetch documents from commands and URLs at build time, as files for the readers.

Messages name the program, or the URL without user and query: the rest may be secret.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from pipeline.errors import RunAborted
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.formats.document import START, is_page
from pipeline.sources.naming import subject
from pipeline.sources.transport import commands
from pipeline.sources.transport.access import resolve_access


@contextmanager
def document(source: SourceSettings, folder: Path, limits: LimitsSettings) -> Iterator[Path]:
    """Open a temporary file with the document of a `command` or `url`; its suffix says how the content is written.

    Raises Unavailable where it may come another time, else RunAborted.
    """
    access = resolve_access(source)
    if source.command is not None:
        content_type, body = "", commands.run(source, folder, access, limits)
    else:
        from pipeline.sources.transport import http  # with httpx, where something is fetched

        content_type, body = http.get(source, access, limits)
    if not body.strip():
        raise RunAborted(f"{subject(source)} gave nothing: its {source.format} document is empty")
    if is_page(body[:START], content_type):
        raise RunAborted(
            f"{subject(source)} gave a web page (HTML), not a document in the format {source.format}: "
            "it may ask for a login, or be down"
        )
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, f"document{_suffix(source, content_type, body)}")
        path.write_bytes(body)
        yield path


def _suffix(source: SourceSettings, content_type: str, body: bytes) -> str:
    """Return how the body is written: as the server says, else as the URL ends, else as the body begins."""
    if source.format == "jsonl":
        return ".jsonl"
    path = urlsplit(source.url).path if source.url is not None else ""
    for told in (content_type.partition(";")[0].lower(), Path(path).suffix.lower()):
        for words, suffix in ((("yaml", "yml"), ".yaml"), (("jsonl", "ndjson"), ".jsonl"), (("json",), ".json")):
            if any(word in told for word in words):
                return suffix
    return ".json" if body.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")) else ".yaml"
