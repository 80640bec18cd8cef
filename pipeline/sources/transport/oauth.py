"""Authenticate to remote MCP servers by OAuth, with the SDK's client: by credentials, or a stored token.

A build never asks a person. Secrets go only to the configured issuer; without one, to the server's own origin.
"""

import json
from pathlib import Path

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from platformdirs import user_config_path
from pydantic import AnyUrl

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import SourceSettings
from pipeline.settings.access import OAuthSettings
from pipeline.sources.naming import name_of, redacted, without_user
from pipeline.sources.transport.access import Access
from pipeline.sources.transport.token_file import MemoryTokens, TokenFile, token_path

_LOG_IN = "run `quartermaster login PATH` with the catalog's folder, where a browser can be opened"
_NO_CLIENT = "none"


class Authentication(OAuthClientProvider):
    """Says in a sentence why there is no token: `failure`, whatever the transport makes of the error.

    `source` and `access` are set once it is made: each kind has arguments of the SDK.
    """

    source: SourceSettings
    access: Access
    failure: RunAborted | None = None

    @property
    def secrets(self) -> list[str]:
        """Return the texts of tokens that no message may hold."""
        tokens = self.context.current_tokens
        found = (tokens.access_token, tokens.refresh_token) if tokens else ()
        return [token for token in found if token]

    @property
    def _oauth(self) -> OAuthSettings:
        return self.source.oauth or OAuthSettings()

    def _fail(self, why: str, kind: type[RunAborted] = RunAborted) -> RunAborted:
        self.failure = kind(f"the MCP server {name_of(self.source)!r} could not be read: {why}")
        return self.failure

    def _check_issuer(self, expected: str | None) -> None:
        """Raise RunAborted where the server names another issuer than the one that may be given secrets."""
        metadata = self.context.oauth_metadata
        if metadata is None:
            raise self._fail("no authorization server was found for it (RFC 9728, RFC 8414)")
        wanted = expected or _origin(self.context.server_url)
        if not issuers_match(str(metadata.issuer), wanted):
            raise self._fail(
                f"it takes tokens of {str(metadata.issuer)!r}, not of {wanted!r}: if that is right, write it as the "
                "issuer in [source.oauth]"
            )

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if response.status_code in (200, 201):
            return await super()._handle_token_response(response)
        try:
            body = json.loads(await response.aread())
            words = [str(body[name]) for name in ("error", "error_description") if body.get(name)]
        except (ValueError, AttributeError, RecursionError):
            words = []
        said = redacted(": ".join(words), self.source, [*self.access.secrets, *self.secrets])
        refusal = said or f"HTTP {response.status_code}"
        if response.status_code == 429 or response.status_code >= 500:
            raise self._fail(f"its authorization server answered {refusal}", Unavailable)
        raise self._fail(self._refused(refusal))

    def _refused(self, refusal: str) -> str:
        return f"its authorization server gave no token: {refusal}"


class ClientCredentials(Authentication, ClientCredentialsOAuthProvider):
    """A token for the client itself, asked for in each build."""

    async def _perform_authorization(self) -> httpx2.Request:
        self._check_issuer(self._oauth.issuer)
        metadata, client = self.context.oauth_metadata, self.context.client_info
        ways = metadata.token_endpoint_auth_methods_supported if metadata else None
        if client is not None and ways and "client_secret_basic" not in ways and "client_secret_post" in ways:
            client.token_endpoint_auth_method = "client_secret_post"  # noqa: S105 - a method's name
        return await super()._perform_authorization()


class StoredToken(Authentication):
    """A token that a person once asked for, refreshed where the server no longer takes it."""

    async def _initialize(self) -> None:
        await super()._initialize()
        stored = self.context.client_info
        if (own := client_of(self.access, self._oauth)) is not None:
            own.issuer = stored.issuer if stored else None
        # Without a client the SDK would register one, and a build has nobody to log in.
        none = OAuthClientInformationFull(client_id=_NO_CLIENT, redirect_uris=None)
        self.context.client_info = own or stored or none

    def _select_authorization_server(self, advertised: list[str]) -> str:
        issuer = self._oauth.issuer or (self.context.client_info.issuer if self.context.client_info else None)
        if issuer is None:
            return advertised[0]
        if same := next((one for one in advertised if issuers_match(issuer, one)), None):
            return same
        raise self._fail(f"it takes tokens of {advertised[0]!r}, and the stored one is of {issuer!r}: {_LOG_IN}")

    async def _perform_authorization(self) -> httpx2.Request:
        client = self.context.client_info
        if not self.context.can_refresh_token() or client is None or client.client_id == _NO_CLIENT:
            raise self._fail(f"the stored token has expired or was withdrawn, and cannot be refreshed: {_LOG_IN}")
        self._check_issuer(self._oauth.issuer or client.issuer)
        return await self._refresh_token()

    def _refused(self, refusal: str) -> str:
        return f"the stored token has expired and was not refreshed ({refusal}): {_LOG_IN}"


def authentication(source: SourceSettings, access: Access, folder: Path) -> Authentication:
    """Return what proves to a source's server who asks. Raises RunAborted where no token is stored, or none of use.

    `folder` is the catalog's, where a relative `token_file` lies.
    """
    oauth = source.oauth or OAuthSettings()
    made: Authentication
    if oauth.by_credentials:
        made = ClientCredentials(
            access.url,
            MemoryTokens(access.url),
            access.client_id or "",
            access.client_secret or "",
            scope=oauth.scope,
            issuer=oauth.issuer or _origin(access.url),
        )
    else:
        storage = stored_at(source, access, folder)
        if not storage.path.is_file():
            raise RunAborted(f"no token is stored for the MCP server {name_of(source)!r} ({storage.path}): {_LOG_IN}")
        storage.load()
        made = StoredToken(access.url, metadata_of(oauth, None), storage)
    made.source, made.access = source, access
    return made


def stored_at(source: SourceSettings, access: Access, folder: Path) -> TokenFile:
    """Return the file of a source's token: the configured one, else one of the user's own."""
    own = source.oauth.token_file if source.oauth else None
    users = user_config_path("quartermaster", appauthor=False)
    return TokenFile(folder / own.expanduser() if own else token_path(access.url, users), access.url)


def metadata_of(oauth: OAuthSettings, redirect: str | None) -> OAuthClientMetadata:
    """Return what the client says of itself where it registers."""
    return OAuthClientMetadata(
        client_name="Quartermaster", redirect_uris=[AnyUrl(redirect)] if redirect else None, scope=oauth.scope
    )


def client_of(access: Access, oauth: OAuthSettings) -> OAuthClientInformationFull | None:
    """Return the client that the settings name; None where it is to be registered, or is stored."""
    if access.client_id is None:
        return None
    return OAuthClientInformationFull(
        client_id=access.client_id,
        client_secret=access.client_secret,
        redirect_uris=None,
        token_endpoint_auth_method="client_secret_basic" if access.client_secret else "none",
        scope=oauth.scope,
    )


def _origin(url: str) -> str:
    parts = without_user(url)
    return f"{parts.scheme}://{parts.netloc.lower()}"
