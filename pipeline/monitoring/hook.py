"""Call the hook of `[notify]`: a command, a URL, or both. Each raises HookFailed with one sentence."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pipeline.errors import RunAborted
from pipeline.settings import NotifySettings
from pipeline.settings.variables import expand, expand_url
from pipeline.sources.transport.fetch import search_path


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
    import httpx2

    from pipeline.sources.transport.http import finished, is_untrusted

    where = "notify.url"
    try:
        url, _ = expand_url(notify.url or "", where)
        headers = {
            name: expand(value.get_secret_value(), f"the header {name} of notify")[0]
            for name, value in notify.headers.items()
        }
        where = f"notify.url at {urlsplit(url).hostname}"
        # None of these errors is kept as the cause: each may quote the whole URL.
        status = finished(_status(url, headers, content, notify.timeout_s))
    except RunAborted as error:
        raise HookFailed(str(error)) from None
    except TimeoutError:
        raise HookFailed(f"{where} took more than {notify.timeout_s:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        if is_untrusted(error):
            told = "has a certificate that cannot be trusted"
        elif isinstance(error, httpx2.TransportError):
            told = "could not be reached"
        else:
            told = f"cannot be called: {type(error).__name__}"
        raise HookFailed(f"{where} {told}") from None
    if not 200 <= status < 300:
        raise HookFailed(f"{where} answered {status}")


async def _status(url: str, headers: Mapping[str, str], content: Mapping[str, Any], seconds: float) -> int:
    """Return the status that a hook answers with; its body is not read."""
    import anyio
    import httpx2

    from pipeline.sources.transport.http import Transport, with_user

    address = httpx2.URL(url)
    request = httpx2.Request("POST", address, headers=with_user(address, headers), json=content)
    with anyio.fail_after(seconds):
        async with Transport() as transport:
            return (await transport.handle_async_request(request)).status_code
