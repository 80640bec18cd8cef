"""What a catalog needs permission for, and what this user has allowed: to run a command, to send a variable.

A catalog may come from elsewhere, and so may a workspace that lies beside it. What was allowed is therefore kept in the
user's own state folder: `~/.local/state/quartermaster/approved_commands.json`, or under XDG_STATE_HOME.
"""

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pydantic import SecretStr

from pipeline.errors import SettingsInvalid
from pipeline.settings import CatalogSettings, NotifySettings, SourceSettings, variables
from pipeline.sources.python_modules import module_command
from pipeline.sources.transport.access import write_private
from router.fingerprint import file_sha256, fingerprint

_logger = logging.getLogger(__name__)
_OPENAI = "https://api.openai.com"


@dataclass(frozen=True, slots=True)
class Permission:
    """What a catalog asks its user to allow, as one line without a secret.

    The `key` of a command changes with its arguments, folder and variables as written, and with the content of a file
    of the folder that an argument names; that of a variable with its name, the server that it goes to, and the folder.
    """

    text: str
    key: str

    def __str__(self) -> str:
        return self.text


def permissions_of(settings: CatalogSettings) -> tuple[Permission, ...]:
    """Return what a build needs permission for, each once: commands that it runs, servers that get variables."""
    found = [permission for source in settings.source for permission in _of_source(settings, source)]
    found += [*_of_hook(settings.notify, settings.folder), *_of_model(settings), *_of_cluster(settings)]
    return tuple(dict.fromkeys(found))


def run_permission(
    command: tuple[str, ...], folder: Path, env: Mapping[str, SecretStr] = MappingProxyType({})
) -> Permission:
    """Return the permission to run a command in a folder, with its own variables."""
    folder = folder.resolve()
    written = {name: value.get_secret_value() for name, value in env.items()}
    taken = dict.fromkeys(name for text in written.values() for name in variables.names(text))
    # As JSON, so that no argument can pass for another, or hide behind a terminal's sequences.
    text = f"run {json.dumps(command)} in {folder}"
    text += f", with {', '.join(env)}" if env else ""
    text += f", from the environment {', '.join(taken)}" if taken else ""
    return Permission(text, fingerprint([command, str(folder), written, [_digest(folder / part) for part in command]]))


def send_permissions(source: SourceSettings, folder: Path) -> tuple[Permission, ...]:
    """Return the permissions to send the variables that a source's address, headers and OAuth take."""
    oauth, url = source.oauth, source.url or ""
    found = list(_sent(url, source.headers.values(), folder))
    if oauth is not None:
        found += _sent(oauth.issuer or url, filter(None, (oauth.client_id, oauth.client_secret)), folder)
    return tuple(found)


def allowed_hook(notify: NotifySettings, folder: Path) -> NotifySettings:
    """Return a hook without the command, and the address that variables go to, if nobody has allowed them."""
    if notify.command and not_approved([run_permission(notify.command, folder)]):
        notify = notify.model_copy(update={"command": None})
    if not_approved(_of_hook(notify, folder)):
        notify = notify.model_copy(update={"url": None, "headers": {}})
    return notify


def without_commands(settings: CatalogSettings) -> CatalogSettings:
    """Return the settings with no command to run, and with nothing else that nobody has allowed, which is logged."""
    notify = settings.notify.model_copy(update={"command": None})
    changes: dict[str, object] = {
        "sources": settings.sources.model_copy(update={"run_commands": False}),
        "notify": allowed_hook(notify, settings.folder),
    }
    if model := not_approved(_of_model(settings)):
        changes["enrichment"] = settings.enrichment.model_copy(update={"api_key": None, "base_url": None})
    if cluster := not_approved(_of_cluster(settings)):
        changes["flow"] = settings.flow.model_copy(update={"runner": "none", "dask_address": None})
    for permission in (*not_approved(_of_hook(notify, settings.folder)), *model, *cluster):
        _logger.warning("left out, as nobody has allowed it here yet: %s", permission)
    return settings.model_copy(update=changes)


def not_approved(permissions: Iterable[Permission]) -> tuple[Permission, ...]:
    """Return what this user has not allowed yet. Raises SettingsInvalid for a file of another's."""
    permissions = tuple(permissions)
    approved = _read() if permissions else frozenset()
    return tuple(permission for permission in permissions if permission.key not in approved)


def approve(permissions: Iterable[Permission]) -> None:
    """Remember what this user allows. Raises SettingsInvalid where that cannot be written."""
    path = approvals_path()
    keys = _read() | {permission.key for permission in permissions}
    try:
        write_private(path, json.dumps({"approved": sorted(keys)}))
    except OSError as error:
        raise SettingsInvalid(f"{path} cannot be written ({error.strerror}): pass --allow-commands each time") from None


def require_approved(settings: CatalogSettings, *, allow: bool = False) -> None:
    """Raise SettingsInvalid where a catalog needs permission that was not given.

    `allow` gives and remembers it. Where it cannot be remembered, as in a read-only container, that is logged, and
    it counts this once.
    """
    new = not_approved(permissions_of(settings))
    if new and not allow:
        listed = "".join(f"\n  {permission}" for permission in new)
        raise SettingsInvalid(
            f"the catalog {settings.name!r} would do what nobody has allowed here yet:{listed}\n"
            "read it, then build with --allow-commands (allow_commands of the flow); --no-commands does none of it"
        )
    if new:
        try:
            approve(new)
        except SettingsInvalid as error:
            _logger.warning("this is allowed this once: %s", error)


def approvals_path() -> Path:
    """Return the file of this user's approvals."""
    return state_folder() / "approved_commands.json"


def state_folder() -> Path:
    """Return the folder of what is kept for this user, whatever the catalog or the workspace."""
    return Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state", "quartermaster").expanduser()


def _of_source(settings: CatalogSettings, source: SourceSettings) -> Iterator[Permission]:
    command = module_command(source, settings.folder) if source.python else source.command
    if settings.sources.run_commands and command:
        yield run_permission(command, settings.folder_of(source), source.env)
    yield from send_permissions(source, settings.folder)


def _of_hook(notify: NotifySettings, folder: Path) -> Iterator[Permission]:
    if notify.command:
        yield run_permission(notify.command, folder)
    yield from _sent(notify.url or "", notify.headers.values(), folder)


def _of_model(settings: CatalogSettings) -> Iterator[Permission]:
    """Yield the permission to send a key of the environment to an address of the catalog's file that is not OpenAI's.

    One of this machine is asked about too: nobody knows who listens there.
    """
    enrichment, address = settings.enrichment, settings.enrichment.base_url
    variable = settings.set_outside("enrichment", "api_key")
    asks = enrichment.generator != "none" and settings.set_outside("enrichment", "base_url") is None
    if variable and address and asks and variables.origin(address) != _OPENAI:
        yield _send(variable, variables.origin(address), settings.folder)


def _of_cluster(settings: CatalogSettings) -> Iterator[Permission]:
    """Yield the permission to use a Dask cluster of the catalog's file: whoever has its scheduler can run code here."""
    if (address := settings.flow.dask_address) and settings.set_outside("flow", "dask_address") is None:
        folder = str(settings.folder.resolve())
        yield Permission(f"exchange code with {json.dumps(address)}", fingerprint(["dask", address, folder]))


def _sent(url: str, texts: Iterable[SecretStr], folder: Path) -> Iterator[Permission]:
    written = [url, *(text.get_secret_value() for text in texts)]
    for name in dict.fromkeys(name for text in written for name in variables.names(text)):
        yield _send(name, variables.origin(url), folder)


def _send(variable: str, origin: str, folder: Path) -> Permission:
    text = f"send {variable} of the environment to {json.dumps(origin)}"
    return Permission(text, fingerprint(["send", variable, origin, str(folder.resolve())]))


def _read() -> frozenset[str]:
    path = approvals_path()
    try:
        status = path.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise SettingsInvalid(f"{path} can be written by others: nobody knows who allowed what it lists. Delete it")
        return frozenset(json.loads(path.read_text(encoding="utf-8"))["approved"])
    except FileNotFoundError:
        return frozenset()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsInvalid(f"{path} cannot be read ({type(error).__name__}): delete it, and allow anew") from None


def _digest(path: Path) -> str:
    """Return the sha256 of a file that a command names, such as its script; empty for anything else."""
    with suppress(OSError, ValueError):
        return file_sha256(path)
    return ""
