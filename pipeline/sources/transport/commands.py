"""Find and run programs that print a document or are an MCP server, within bounds, and end their processes."""

import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from pipeline.errors import RunAborted
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.naming import location, redacted, subject, too_large, too_late
from pipeline.sources.transport.access import Access

_CHUNK = 65_536
_INHERITED = frozenset(
    "HOME LOGNAME USER SHELL TERM LANG LANGUAGE TZ TMPDIR XDG_CACHE_HOME SSL_CERT_FILE SSL_CERT_DIR".split()
)
_BESIDE_PYTHON = Path(sys.executable).parent


def program(source: SourceSettings, folder: Path) -> str:
    """Return the program of a command as a full path. Raises RunAborted where it is not installed."""
    name = location(source)
    # A path is meant from the catalog's folder, where the command runs.
    found = shutil.which(str((folder / name).absolute()) if os.sep in name else name, path=search_path())
    if found is None:
        where = "there is no such program" if os.sep in name else f"it is neither in {_BESIDE_PYTHON} nor on PATH"
        raise RunAborted(f"the command {name!r} is not installed: {where}")
    return os.path.abspath(found)


def search_path() -> str:
    """Return PATH for commands, led by the folder of this Python: what is installed beside it is found though the
    environment is not activated."""
    return os.pathsep.join((str(_BESIDE_PYTHON), os.environ.get("PATH") or os.defpath))


def minimal_environment() -> dict[str, str]:
    """Return what a command gets of the environment: where programs and files are, and the language. No secret."""
    kept = {name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith("LC_")}
    return {**kept, "PATH": search_path()}


def run(source: SourceSettings, folder: Path, access: Access, limits: LimitsSettings) -> bytes:
    """Return what a command prints on standard output. Raises Unavailable where it takes too long, else RunAborted."""
    command = [program(source, folder), *(source.command or ())[1:]]
    pipe, silent = subprocess.PIPE, subprocess.DEVNULL
    environment = {**minimal_environment(), **access.env}
    try:
        process = subprocess.Popen(  # noqa: S603 - the catalog's own command, and no shell
            command, stdin=silent, stdout=pipe, stderr=pipe, cwd=folder, env=environment, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "an argument holds a NUL"
        raise RunAborted(f"{subject(source)} could not be started: {reason}") from None
    with process:
        try:
            output, errors = _listen(process, source, limits)
        except BaseException:
            # With all that it started, while its number is still its own; macOS refuses where all have ended.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        lines = [line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
        how = f"exit code {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
        why = redacted(lines[-1], source, access.secrets) if lines else "it said nothing"
        raise RunAborted(f"{subject(source)} ended with {how}: {why}")
    return output


def _listen(process: "subprocess.Popen[bytes]", source: SourceSettings, limits: LimitsSettings) -> tuple[bytes, bytes]:
    """Return all of a process's output and the end of its errors, read together so that neither pipe fills up."""
    until = time.monotonic() + source.timeout_s
    output, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, kept in ((process.stdout, output), (process.stderr, errors)):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, kept)
        while selector.get_map():
            if (left := until - time.monotonic()) <= 0:
                raise too_late(source)
            for key, _ in selector.select(left):
                if not (chunk := os.read(key.fd, _CHUNK)):
                    selector.unregister(key.fileobj)
                key.data.extend(chunk)
            if len(output) > limits.document_bytes:
                raise too_large(source, limits)
            del errors[:-_CHUNK]  # its last words are enough
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise too_late(source) from None
    return bytes(output), bytes(errors)
