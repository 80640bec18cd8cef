"""Call the operation of a record: settings, arguments, request, authentication, answer."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from quartermaster.calling.argument_check import refused_arguments
from quartermaster.calling.auth import MASK, ApiKey, Basic, Bearer, ClientCredentials, basic_credentials
from quartermaster.calling.errors import CallRefused
from quartermaster.calling.requests import HttpRequest, build_request
from quartermaster.calling.results import CallResult, preview_of, result_of
from quartermaster.calling.sending import HttpAnswer, Limits, send
from quartermaster.calling.settings import CallSettings, ProviderCalls
from quartermaster.calling.styles import escape
from quartermaster.calling.tokens import TokenCache
from router.operation import Operation
from router.record import ToolRecord
from router.tools.trust import trusted_text


class ApiCalls:
    """Calls the operations of records that have one, as the settings say. One serves all threads and event loops.

    It takes a record at its word: whoever calls it has checked that the tool may be used.
    """

    def __init__(self, settings: CallSettings, *, dry_run: bool = False) -> None:
        self._settings = settings
        self._dry_run = dry_run
        self._tokens = TokenCache()

    def serves(self, record: ToolRecord) -> bool:
        """Return whether a record has an operation, and the settings its provider."""
        return record.operation is not None and self._settings.of(record) is not None

    async def call(self, record: ToolRecord, arguments: Mapping[str, Any]) -> CallResult:
        """Return what the tool's server answers. An error of the server is a result that `is_error`.

        Raises CallRefused where nothing was sent, and CallFailed where there is no usable answer.
        """
        settings, operation = self._served(record)
        if not settings.allows(record):
            raise CallRefused(_not_allowed(record, operation))
        request = self._request(record, operation, settings, arguments)
        if self._dry_run or settings.dry_run:
            return preview_of(request.with_parts(*_authentication(settings, MASK, masks=True)))
        token = await self._token(settings)
        answer = await self._send(request, settings, token)
        # A token may be withdrawn before its end. A refused request took no effect, so that it may be sent again.
        if answer.status == 401 and self._tokens.forget(settings.auth, token):
            token = await self._token(settings)
            answer = await self._send(request, settings, token)
        return result_of(answer, [*settings.secrets(), token], settings.max_result_characters)

    def preview(self, record: ToolRecord, arguments: Mapping[str, Any]) -> CallResult:
        """Return the request that `call` would send, secrets masked. Raises CallRefused where it cannot be made."""
        settings, operation = self._served(record)
        request = self._request(record, operation, settings, arguments)
        return preview_of(request.with_parts(*_authentication(settings, MASK, masks=True)))

    def _served(self, record: ToolRecord) -> tuple[ProviderCalls, Operation]:
        settings = self._settings.of(record)
        if record.operation is None:
            raise CallRefused(f"{record.tool_id} is of no API document that says how it is called")
        if settings is None:
            named = ", ".join(self._settings.provider) or "none"
            raise CallRefused(
                f"{record.tool_id} cannot be called here: the settings of calls have no provider {record.provider!r} "
                f"(they have: {named})"
            )
        return settings, record.operation

    def _request(
        self, record: ToolRecord, operation: Operation, settings: ProviderCalls, arguments: Mapping[str, Any]
    ) -> HttpRequest:
        base_url = _base_url(record, operation, settings)
        if wrong := refused_arguments(_without_settled(record, operation, settings), arguments):
            raise CallRefused(wrong)
        try:
            request = build_request(operation, arguments, base_url, encoded_slashes=settings.encoded_slashes)
        except CallRefused as error:
            raise CallRefused(f"{record.tool_id} was not called: {trusted_text(str(error))}") from None
        if len(request.body) > settings.max_request_bytes:
            raise CallRefused(
                f"{record.tool_id} was not called: its body has {len(request.body):,} bytes, more than the "
                f"{settings.max_request_bytes:,} of max_request_bytes"
            )
        return request

    async def _token(self, settings: ProviderCalls) -> str:
        if isinstance(settings.auth, ClientCredentials):
            return await self._tokens.token(settings.auth, settings.timeout_s)
        return ""

    async def _send(self, request: HttpRequest, settings: ProviderCalls, token: str) -> HttpAnswer:
        return await send(
            request.with_parts(*_authentication(settings, token)),
            Limits(settings.timeout_s, settings.max_response_bytes),
            public_only=settings.document_server,
            follow_redirects=settings.follow_redirects,
        )


def _base_url(record: ToolRecord, operation: Operation, settings: ProviderCalls) -> str:
    """Return the address to send to. Raises CallRefused where the settings name none."""
    if settings.document_server:
        if url := next((url for url in operation.servers if url.startswith(("https://", "http://"))), None):
            return _document_url(record, url)
        raise CallRefused(f"{record.tool_id} was not called: its document names no address; write a base_url")
    if not operation.has_own_servers:
        return settings.base_url
    for server in operation.servers:
        if server in settings.servers:
            return settings.servers[server]
    own = trusted_text(", ".join(operation.servers)) or "?"
    raise CallRefused(
        f"{record.tool_id} was not called: its document sends it to {own}, and not to the API's other server. Where "
        'that is right, write servers = {"that address" = "where to send"} in the settings of calls'
    )


def _document_url(record: ToolRecord, url: str) -> str:
    """Return the address of a document's server, which a stranger wrote, if it can only be read in one way."""
    plain = all(33 <= ord(character) < 127 and character not in '\\?#"<>^`{|}' for character in url)
    try:
        parts = urlsplit(url)
        plain = plain and bool(parts.hostname) and "@" not in parts.netloc and (parts.port is None or parts.port > 0)
    except ValueError:  # of brackets without an IPv6 address, of a port that is no number
        plain = False
    if not plain:
        raise CallRefused(
            f"{record.tool_id} was not called: its document's server is no plain address; write a base_url"
        )
    return url


def _without_settled(record: ToolRecord, operation: Operation, settings: ProviderCalls) -> ToolRecord:
    """Return a record whose schema does not require what the settings send, such as the API's key."""
    headers, query, cookies = _authentication(settings, MASK, masks=True)
    given = {("header", name.lower()) for name in headers}
    given |= {("query", key) for key, _ in query} | {("cookie", key) for key, _ in cookies}
    settled = {
        parameter.argument
        for parameter in operation.parameters
        if (
            parameter.place,
            parameter.wire_name.lower() if parameter.place == "header" else escape(parameter.wire_name),
        )
        in given
    }
    required = record.input_schema.get("required")
    if not settled or not isinstance(required, list):
        return record
    return replace(record, input_schema={**record.input_schema, "required": [r for r in required if r not in settled]})


def _authentication(
    settings: ProviderCalls, token: str, *, masks: bool = False
) -> tuple[dict[str, str], tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return headers, query and cookies that the settings add; `masks` puts a mask in the place of each value."""
    headers, query, cookies = dict(settings.headers), [], []
    match settings.auth:
        case Bearer():
            headers["Authorization"] = f"Bearer {settings.auth.token}"
        case ClientCredentials():
            headers["Authorization"] = f"Bearer {token}"
        case Basic():
            headers["Authorization"] = basic_credentials(settings.auth.username, settings.auth.password)
        case ApiKey(place="header"):
            headers[settings.auth.name] = settings.auth.value
        case ApiKey(place="query"):
            query = [(escape(settings.auth.name), escape(settings.auth.value))]
        case ApiKey():
            cookies = [(settings.auth.name, escape(settings.auth.value))]
    if masks:
        return (
            dict.fromkeys(headers, MASK),
            tuple((key, MASK) for key, _ in query),
            tuple((k, MASK) for k, _ in cookies),
        )
    return headers, tuple(query), tuple(cookies)


def _not_allowed(record: ToolRecord, operation: Operation) -> str:
    return (
        f"{record.tool_id} was not called: it is a {operation.method}, and only reading (GET, HEAD) is allowed for its "
        f'provider. Whoever runs this may set allow = ["{operation.method}"], allow_tools = ["{record.tool_id}"] or '
        "write = true in the settings of calls"
    )
