"""Call the hook of `[notify]`, a command or a URL, and find the secrets that no log, metric or hook may show."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, SecretStr

from pipeline.errors import RunAborted
from pipeline.settings import CatalogSettings, NotifySettings
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
            what = "has a certificate that cannot be trusted"
        elif isinstance(error, httpx2.TransportError):
            what = "could not be reached"
        else:
            what = f"cannot be called: {type(error).__name__}"
        raise HookFailed(f"{where} {what}") from None
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


def secrets_of(settings: CatalogSettings) -> frozenset[str]:
    """Return every value of the settings that may be a secret, as it is sent.

    They are all values of secret fields, what the environment fills in, the user, password and query of each address,
    and the path of the hook's.
    """
    return frozenset(secret for secret in (*_found(settings), *hook_secrets(settings.notify)) if secret)


def hook_secrets(notify: NotifySettings) -> frozenset[str]:
    """Return the secrets of the hook.

    They include its address but for the host: many webhooks have a token in the path.
    """
    secrets = {*_found(notify)}
    with suppress(RunAborted, ValueError):
        url, _ = expand_url(notify.url or "", "notify.url")
        parts = urlsplit(url)
        secrets |= {url, parts.query, parts.path if len(parts.path) > 1 else ""}
    return frozenset(secrets - {""})


def _found(value: Any, name: str = "") -> Iterator[str]:
    """Yield the secrets in a value of the settings, whose field has this name."""
    if isinstance(value, SecretStr):
        yield from _sent(value.get_secret_value())
    elif isinstance(value, BaseModel):
        for field, inner in value:
            yield from _found(inner, field)
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _found(inner, name)
    elif isinstance(value, str) and name in ("url", "base_url"):
        yield from _of_url(value)


def _sent(text: str) -> Iterator[str]:
    """Yield a secret text, the values in it, and its words: "Bearer …" may be quoted without the first."""
    values: list[str] = []
    with suppress(RunAborted):  # it is not set: there is nothing to hide
        text, values = expand(text, "a secret")
    yield from (text, *values, *(word for word in text.split() if len(word) > len("Bearer")))


def _of_url(url: str) -> Iterator[str]:
    with suppress(RunAborted):
        url, values = expand_url(url, "an address")
        yield from values
    with suppress(ValueError):
        parts = urlsplit(url)
        yield from (parts.password or "", parts.query, *(value for _, value in parse_qsl(parts.query)))
