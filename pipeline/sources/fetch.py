"""What is produced elsewhere at build time: the output of a command, or the body behind a URL, becomes a reader's file.

Messages name the program, or the URL without user and query: arguments and the rest may hold secrets.
"""

import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import SourceSettings

# Several times the largest documents that vendors publish: what is larger is a program or a server gone wild.
_MAX_BYTES = 64_000_000
_MAX_SAID = 300
_CHUNK = 65_536
_BESIDE_PYTHON = Path(sys.executable).parent
# A terminal's sequences as a whole, then control characters one by one.
_UNPRINTABLE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@contextmanager
def document(source: SourceSettings, folder: Path) -> Iterator[Path]:
    """A temporary file with the document of a `command` or `url`, its suffix as its content is written.

    Raises Unavailable where it may come another time, else RunAborted.
    """
    if source.command is not None:
        told, body = "", _run(source, folder)
    else:
        told, body = _get(source)
    if not body.strip():
        raise RunAborted(f"{_named(source)} gave nothing: its {source.format} document is empty")
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, f"document{_suffix(source, told, body)}")
        path.write_bytes(body)
        yield path


def place(source: SourceSettings) -> str:
    """Where a source is produced, for messages and origins: no user, query or arguments, which may be secrets."""
    if source.url is None:
        return (source.command or ("",))[0]
    parts = urlsplit(source.url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def program(source: SourceSettings, folder: Path) -> str:
    """The program of a command as a full path. Raises RunAborted where it is not installed."""
    name = place(source)
    # A path is meant from the catalog's folder, where the command runs.
    found = shutil.which(str((folder / name).absolute()) if os.sep in name else name, path=search_path())
    if found is None:
        where = "there is no such program" if os.sep in name else f"it is neither in {_BESIDE_PYTHON} nor on PATH"
        raise RunAborted(f"the command {name!r} is not installed: {where}")
    return os.path.abspath(found)


def search_path() -> str:
    """PATH for commands, led by the folder of this Python: what is installed beside it is found though the
    environment is not activated."""
    return os.pathsep.join((str(_BESIDE_PYTHON), os.environ.get("PATH") or os.defpath))


def said(text: str, source: SourceSettings) -> str:
    """What a program or server said, fit for a message: one line, bounded, no control characters, no secrets."""
    secrets = list((source.command or ())[1:])
    if source.url is not None:
        parts = urlsplit(source.url)
        values = [value for _, value in parse_qsl(parts.query)]
        secrets += [parts.username or "", parts.password or "", parts.query, parts.fragment, *values]
    secrets += [value for secret in secrets if (value := secret.partition("=")[2])]
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) > 3:  # shorter ones stand in every other word
            text = text.replace(secret, "…")
    text = _UNPRINTABLE.sub(" ", text).strip()
    return text if len(text) <= _MAX_SAID else f"{text[:_MAX_SAID]}…"


def _named(source: SourceSettings) -> str:
    return f"the {'url' if source.command is None else 'command'} {place(source)!r}"


def _too_large(source: SourceSettings) -> RunAborted:
    return RunAborted(f"{_named(source)} gave more than {_MAX_BYTES // 10**6} MB: no document is so large")


def _too_late(source: SourceSettings) -> Unavailable:
    return Unavailable(f"{_named(source)} took more than the {source.timeout_s:g} s that timeout_s allows")


def _run(source: SourceSettings, folder: Path) -> bytes:
    """What a command prints on its standard output."""
    command = [program(source, folder), *(source.command or ())[1:]]
    pipe, silent, environment = subprocess.PIPE, subprocess.DEVNULL, {**os.environ, "PATH": search_path()}
    try:
        process = subprocess.Popen(  # noqa: S603 - the catalog's own command, and no shell
            command, stdin=silent, stdout=pipe, stderr=pipe, cwd=folder, env=environment, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "an argument holds a NUL"
        raise RunAborted(f"{_named(source)} could not be started: {reason}") from None
    with process:
        try:
            output, errors = _listen(process, source)
        except BaseException:
            # With all that it started, while its number is still its own; macOS refuses where all have ended.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        lines = [line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
        how = f"exit code {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
        why = said(lines[-1], source) if lines else "it said nothing"
        raise RunAborted(f"{_named(source)} ended with {how}: {why}")
    return output


def _listen(process: "subprocess.Popen[bytes]", source: SourceSettings) -> tuple[bytes, bytes]:
    """All of a process's output and the end of its errors, read together so that neither pipe fills up."""
    until = time.monotonic() + source.timeout_s
    output, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, kept in ((process.stdout, output), (process.stderr, errors)):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, kept)
        while selector.get_map():
            if (left := until - time.monotonic()) <= 0:
                raise _too_late(source)
            for key, _ in selector.select(left):
                if not (chunk := os.read(key.fd, _CHUNK)):
                    selector.unregister(key.fileobj)
                key.data.extend(chunk)
            if len(output) > _MAX_BYTES:
                raise _too_large(source)
            del errors[:-_CHUNK]  # its last words are enough
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise _too_late(source) from None
    return bytes(output), bytes(errors)


def _get(source: SourceSettings) -> tuple[str, bytes]:
    """The content type and the body behind a URL."""
    import requests  # only where something is fetched
    from urllib3.exceptions import DecodeError, HTTPError, ReadTimeoutError

    until = time.monotonic() + source.timeout_s
    body = bytearray()
    # None of these errors is kept as the cause: each quotes the whole URL.
    try:
        with requests.get(source.url or "", stream=True, timeout=source.timeout_s) as response:
            if not 200 <= response.status_code < 300:
                kind = Unavailable if response.status_code == 429 or response.status_code >= 500 else RunAborted
                answer = f"{response.status_code} {said(response.reason or '', source)}".strip()
                raise kind(f"{_named(source)} answered {answer}")
            # Not iter_content: it waits for a whole chunk, and a server that drips would never meet the time limit.
            while chunk := response.raw.read1(_CHUNK, decode_content=True):
                body += chunk
                if len(body) > _MAX_BYTES:
                    raise _too_large(source)
                if time.monotonic() > until:
                    raise _too_late(source)
            return response.headers.get("content-type", ""), bytes(body)
    except (requests.Timeout, ReadTimeoutError):
        raise _too_late(source) from None
    except requests.exceptions.SSLError:
        raise RunAborted(f"{_named(source)} has a certificate that cannot be trusted") from None
    except requests.ConnectionError:
        raise Unavailable(f"{_named(source)} could not be reached") from None
    except (requests.RequestException, DecodeError, ValueError) as error:
        raise RunAborted(f"{_named(source)} could not be read: {type(error).__name__}") from None
    except HTTPError as error:
        raise Unavailable(f"{_named(source)} broke off: {type(error).__name__}") from None


def _suffix(source: SourceSettings, content_type: str, body: bytes) -> str:
    """How the body is written: as the server says, else as the URL ends, else as the body begins."""
    if source.format == "jsonl":
        return ".jsonl"
    path = urlsplit(source.url).path if source.url is not None else ""
    for told in (content_type.partition(";")[0].lower(), Path(path).suffix.lower()):
        for words, suffix in ((("yaml", "yml"), ".yaml"), (("jsonl", "ndjson"), ".jsonl"), (("json",), ".json")):
            if any(word in told for word in words):
                return suffix
    return ".json" if body.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")) else ".yaml"
