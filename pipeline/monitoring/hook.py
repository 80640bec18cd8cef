"""Call the hook of `[notify]`: a command, a URL, or both. Each raises HookFailed with one sentence."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pipeline.errors import RunAborted
from pipeline.settings import NotifySettings
from pipeline.settings.variables import expand, expand_url
from pipeline.sources.transport.commands import search_path


class HookFailed(Exception):
    """The hook was not called, or did not do what it should. The message names no secret."""


def run_command(notify: NotifySettings, content: Mapping[str, Any], folder: Path) -> None:
    """Start the hook's command in a folder, and write the JSON to its standard input. Raises HookFailed."""
    assert notify.command is not None
    name = notify.command[0]
    try:
        process = subprocess.Popen(  # noqa: S603 - the catalog's own command, as a source's, and no shell
            notify.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**os.environ, "PATH": search_path()},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "an argument holds a NUL"
        raise HookFailed(f"notify.command {name!r} could not be started: {reason}") from None
    with process:
        try:
            _, errors = process.communicate(json.dumps(content, ensure_ascii=False).encode(), notify.timeout_s)
        except BaseException as error:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise HookFailed(f"notify.command {name!r} took more than {notify.timeout_s:g} s") from None
            raise
    if process.returncode:
        lines = errors.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        raise HookFailed(f"notify.command {name!r} ended with exit code {process.returncode}: {last[:300]}")


def post(notify: NotifySettings, content: Mapping[str, Any]) -> None:
    """Send the JSON to the hook's address. A redirect is not followed. Raises HookFailed."""
    import requests

    from pipeline.sources.transport.http_session import DeadlineSession

    where, started = "notify.url", time.monotonic()
    try:
        url, _ = expand_url(notify.url or "", where)
        headers = {
            name: expand(value.get_secret_value(), f"the header {name} of notify")[0]
            for name, value in notify.headers.items()
        }
        where = f"notify.url at {urlsplit(url).hostname}"
        # None of these errors is kept as the cause: each quotes the whole URL.
        with (
            DeadlineSession(notify.timeout_s) as session,
            session.post(
                url, json=content, headers=headers, timeout=notify.timeout_s, allow_redirects=False, stream=True
            ) as response,
        ):
            status = response.status_code
    except RunAborted as error:
        raise HookFailed(str(error)) from None
    except requests.Timeout:
        raise HookFailed(f"{where} took more than {notify.timeout_s:g} s") from None
    except requests.exceptions.SSLError:
        raise HookFailed(f"{where} has a certificate that cannot be trusted") from None
    except requests.ConnectionError:
        late = time.monotonic() - started >= notify.timeout_s  # cut at the deadline
        told = f"took more than {notify.timeout_s:g} s" if late else "could not be reached"
        raise HookFailed(f"{where} {told}") from None
    except (requests.RequestException, ValueError) as error:
        raise HookFailed(f"{where} cannot be called: {type(error).__name__}") from None
    if not 200 <= status < 300:
        raise HookFailed(f"{where} answered {status}")
