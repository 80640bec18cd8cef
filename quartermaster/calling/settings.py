"""The settings of calls: for each provider where its API is, how to authenticate there, and what may be called."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec

from quartermaster.addresses import is_private_name
from quartermaster.calling.auth import ApiKey, Auth, ClientCredentials, secrets_of
from quartermaster.calling.styles import header_problem, is_token
from router.errors import SettingsInvalid, quoted
from router.record import ToolRecord
from router.snapshot.facets import matching_names

_ANY = "*"
_SECRET_NAME = re.compile("auth|key|token|secret|passw|session|cookie|credential|signature", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_Bytes = Annotated[int, msgspec.Meta(ge=1)]


class ProviderCalls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the tools of one provider are called.

    `base_url` takes the place of the document's server, with its path: `https://api.example.com/v1`. `servers` does the
    same for single operations that have a server of their own in the document: from its address there to the one to
    use. Without `base_url`, `document_server` calls the address that the document gives, which must be public and
    gets no secret.

    Only GET and HEAD are called, unless `allow` names other methods, `allow_tools` the tools' ids (globs), or `write`
    allows all. With `dry_run` nothing is sent: the answer is the request, with secrets masked.

    `timeout_s` bounds a call as a whole, in seconds. A longer answer than `max_response_bytes` is an error; of a longer
    text than `max_result_characters` the model reads the beginning. `follow_redirects` follows those of GET and HEAD
    within the same scheme, host and port. `encoded_slashes` sends a slash in a path argument as `%2F`.
    `argument_headers` names headers that arguments may fill beside harmless ones such as `If-Match`.
    """

    base_url: str = ""
    servers: dict[str, str] = {}
    document_server: bool = False
    auth: Auth | None = None
    headers: dict[str, str] = {}
    allow: list[str] = []
    allow_tools: list[str] = []
    write: bool = False
    dry_run: bool = False
    timeout_s: float = 30.0
    max_request_bytes: _Bytes = 1_048_576
    max_response_bytes: _Bytes = 1_048_576
    max_result_characters: _Bytes = 50_000
    follow_redirects: bool = False
    encoded_slashes: bool = False
    argument_headers: list[str] = []

    def __repr__(self) -> str:
        return f"ProviderCalls(base_url={self.base_url!r}, auth={self.auth!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return what rich's tracebacks may show."""
        return [("base_url", self.base_url), ("auth", self.auth)]

    def allows(self, record: ToolRecord) -> bool:
        """Return whether a tool's operation may be called, by its method or its id."""
        operation = record.operation
        if operation is None:
            return False
        if operation.is_read_only or self.write or operation.method in map(str.upper, self.allow):
            return True
        return any(list(matching_names(glob, [record.tool_id])) for glob in self.allow_tools)

    def secrets(self) -> list[str]:
        """Return what no answer may show: not every header's value, as a version's date also stands in answers."""
        headers = (value for name, value in self.headers.items() if _SECRET_NAME.search(name))
        return [*secrets_of(self.auth), *headers]


class CallSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The providers whose operations are called, by their labels in the catalog; `*` stands for all others."""

    provider: dict[str, ProviderCalls]

    def of(self, record: ToolRecord) -> ProviderCalls | None:
        """Return the settings of a tool's provider; None where its operations are not called."""
        return self.provider.get(record.provider or "", self.provider.get(_ANY))

    def __post_init__(self) -> None:
        for name, calls in self.provider.items():
            for problem in _problems(name, calls):
                raise SettingsInvalid(f"provider.{name}: {problem}")


def read_call_settings(path: Path, variables: Mapping[str, str] = os.environ) -> CallSettings:
    """Read a TOML file of calls, or JSON of the same form: `[provider.NAME]` with the fields of `ProviderCalls`.

    `${NAME}` in any text is replaced from `variables`, so that the file holds no secret. Raises SettingsInvalid, naming
    the place of the mistake and no value.
    """
    try:
        data = path.read_bytes()
        raw = msgspec.json.decode(data) if path.suffix == ".json" else tomllib.loads(data.decode())
        return msgspec.convert(_expanded(raw, variables, ""), CallSettings)
    except SettingsInvalid as error:
        raise SettingsInvalid(f"{path}: {error}") from None
    except (OSError, ValueError, RecursionError) as error:  # of reading, of UTF-8, of TOML and JSON
        raise SettingsInvalid(f"{path} is not a file of calls ([provider.NAME]): {error}") from None


def _problems(name: str, calls: ProviderCalls) -> Iterator[str]:
    """Yield what is wrong with a provider's settings, without any value that may be a secret."""
    has_secrets = bool(calls.auth or calls.headers)
    if bool(calls.base_url) == calls.document_server:
        yield "give either base_url, the address of its API, or document_server = true"
    if (calls.document_server or name == _ANY) and (has_secrets or calls.base_url or calls.servers):
        yield (
            "auth, headers and servers need a base_url under the provider's own name: a document's server gets no "
            "secrets"
        )
    if calls.base_url:
        yield from _url_problems("base_url", calls.base_url, has_secrets)
    for key, url in calls.servers.items():
        yield from _url_problems(f"servers.{key}", url, has_secrets)
    if isinstance(calls.auth, ClientCredentials):
        yield from _url_problems("auth.token_url", calls.auth.token_url, True)
    if isinstance(calls.auth, ApiKey) and calls.auth.place != "query" and not is_token(calls.auth.name):
        yield f"auth.name is {quoted(calls.auth.name)}, it must be the name of a header or a cookie"
    for field, header, value in (
        *(("headers", header, value) for header, value in calls.headers.items()),
        *(("argument_headers", header, "") for header in calls.argument_headers),
    ):
        if problem := header_problem(header, value):
            yield f"{field}.{header}: {problem}"
    if not 0 < calls.timeout_s <= 3600:
        yield f"timeout_s is {calls.timeout_s}, it must be seconds above 0, up to 3600"


def _url_problems(place: str, url: str, has_secrets: bool) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        yield f"{place} is not a URL"
        return
    if parts.scheme not in ("http", "https") or not host or not re.fullmatch(r"[!-~]+", url):
        yield f"{place} must be an address in ASCII that begins with https:// or http://"
    elif parts.username is not None or parts.query or parts.fragment:
        yield f"{place} must be without user, query and fragment: secrets go to auth"
    elif has_secrets and parts.scheme == "http" and not is_private_name(host):
        yield f"{place} is http:// and would send secrets in the clear: write https://"


def _expanded(value: Any, variables: Mapping[str, str], where: str) -> Any:
    if isinstance(value, dict):
        return {key: _expanded(item, variables, f"{where}.{key}".strip(".")) for key, item in value.items()}
    if isinstance(value, list):
        return [_expanded(item, variables, where) for item in value]
    return _filled(value, where, variables) if isinstance(value, str) else value


def _filled(text: str, where: str, variables: Mapping[str, str]) -> str:
    """Return a text with its variables replaced; blanks around a value, such as a file's last line break, go.

    Raises SettingsInvalid, naming the place `where` and no value, for a variable that is missing or empty: a server
    would get an empty key.
    """
    for name in _VARIABLE.findall(text):
        if not variables.get(name, "").strip():
            raise SettingsInvalid(f"{where}: the environment has no {name}, or it is empty: set it, or write the value")
    return _VARIABLE.sub(lambda match: variables[match[1]].strip(), text)
