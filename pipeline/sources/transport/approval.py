"""The commands that a catalog names, and which of them this user has allowed.

A catalog may come from elsewhere, and so may a workspace that lies beside it. What was allowed is therefore kept in the
user's own state folder: `~/.local/state/quartermaster/approved_commands.json`, or under XDG_STATE_HOME.
"""

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pydantic import SecretStr

from pipeline.errors import SettingsInvalid
from pipeline.settings import CatalogSettings, variables
from pipeline.sources.naming import location
from pipeline.sources.python_modules import module_command
from pipeline.sources.transport.access import write_private
from router.fingerprint import fingerprint

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CatalogCommand:
    """A command that a catalog names: its program and arguments, the folder that it runs in, its own variables.

    So is the address of a server to which an MCP client's file sends variables: those that are `taken` from the
    environment. `key` changes with each of them, and with the content of a file of the folder that an argument names.
    """

    command: tuple[str, ...]
    folder: Path
    variables: tuple[str, ...]
    key: str
    taken: tuple[str, ...] = ()

    def __str__(self) -> str:
        # As JSON, so that no argument can pass for another, or hide behind a terminal's sequences.
        beside = f", with {', '.join(self.variables)}" if self.variables else ""
        beside += f", from the environment {', '.join(self.taken)}" if self.taken else ""
        return f"{json.dumps(self.command)} in {self.folder}{beside}"


def commands_of(settings: CatalogSettings) -> tuple[CatalogCommand, ...]:
    """Return the commands that a build would run, each once: those of the sources, if they are run, and of the hook."""
    commands = []
    for one in settings.source:
        if (one.command or one.python) and settings.sources.run_commands:
            command = module_command(one, settings.folder) if one.python else one.command
            if command:
                commands.append(catalog_command(command, settings.folder_of(one), one.env))
        elif one.client and one.url and taken(sent := {"url": SecretStr(one.url), **one.headers}):
            commands.append(catalog_command((location(one),), settings.folder, sent))
    if settings.notify.command:
        commands.append(catalog_command(settings.notify.command, settings.folder))
    return tuple(dict.fromkeys(commands))


def catalog_command(
    command: tuple[str, ...], folder: Path, env: Mapping[str, SecretStr] = MappingProxyType({})
) -> CatalogCommand:
    """Return a command of the catalog in a folder, with its own variables."""
    folder = folder.resolve()
    written = {name: value.get_secret_value() for name, value in env.items()}
    files = [_digest(folder / part) for part in command]
    key = fingerprint([command, str(folder), written, files])
    return CatalogCommand(command, folder, tuple(env), key, taken(env))


def taken(texts: Mapping[str, SecretStr]) -> tuple[str, ...]:
    """Return the variables of the environment that settings take, each once."""
    return tuple(dict.fromkeys(name for text in texts.values() for name in variables.names(text.get_secret_value())))


def not_approved(commands: Iterable[CatalogCommand]) -> tuple[CatalogCommand, ...]:
    """Return the commands that this user has not allowed yet. Raises SettingsInvalid for a file of another's."""
    approved = _read()
    return tuple(command for command in commands if command.key not in approved)


def approve(commands: Iterable[CatalogCommand]) -> None:
    """Remember that this user allows commands. Raises SettingsInvalid where that cannot be written."""
    path = approvals_path()
    keys = _read() | {command.key for command in commands}
    try:
        write_private(path, json.dumps({"approved": sorted(keys)}))
    except OSError as error:
        raise SettingsInvalid(f"{path} cannot be written ({error.strerror}): pass --allow-commands each time") from None


def require_approved(settings: CatalogSettings, *, allow: bool = False) -> None:
    """Raise SettingsInvalid where a catalog names commands that were not allowed.

    `allow` allows and remembers them. Where they cannot be remembered, as in a read-only container, that is logged, and
    they are allowed this once.
    """
    new = not_approved(commands_of(settings))
    if new and not allow:
        listed = "".join(f"\n  {command}" for command in new)
        raise SettingsInvalid(
            f"the catalog {settings.name!r} names commands that nobody has allowed here yet:{listed}\n"
            "read them, then pass --allow-commands (allow_commands of the flow); --no-commands runs none"
        )
    if new:
        try:
            approve(new)
        except SettingsInvalid as error:
            _logger.warning("these commands are allowed this once: %s", error)


def approvals_path() -> Path:
    """Return the file of this user's approvals."""
    return state_folder() / "approved_commands.json"


def state_folder() -> Path:
    """Return the folder of what is kept for this user, whatever the catalog or the workspace."""
    return Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state", "quartermaster").expanduser()


def _read() -> frozenset[str]:
    path = approvals_path()
    try:
        status = path.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise SettingsInvalid(f"{path} can be written by others: nobody knows who allowed its commands. Delete it")
        return frozenset(json.loads(path.read_text(encoding="utf-8"))["approved"])
    except FileNotFoundError:
        return frozenset()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsInvalid(f"{path} cannot be read ({type(error).__name__}): delete it, and allow anew") from None


def _digest(path: Path) -> str:
    """Return the sha256 of a file that a command names, such as its script; empty for anything else."""
    with suppress(OSError, ValueError):
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return ""
