"""Call the operation of a record: settings, arguments, request, authentication, answer."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from quartermaster.calling.argument_check import fitting_arguments
from quartermaster.calling.auth import ApiKey, Basic, Bearer, ClientCredentials, TokenCache, basic_credentials
from quartermaster.calling.errors import CallRefused
from quartermaster.calling.requests import HttpRequest, Parts, build_request
from quartermaster.calling.results import CallResult, preview_of, result_of
from quartermaster.calling.sending import HttpAnswer, send
from quartermaster.calling.settings import CallSettings, ProviderCalls
from quartermaster.calling.styles import escape
from router.errors import QuartermasterError, RequestInvalid
from router.operation import Operation
from router.provider_formats.formats import VendorText
from router.record import ToolRecord
from router.router import Router
from router.selection.admission import refusal_reason
from router.tools.trust.trusted import trusted_text, visible_value


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
            raise _refused(
                record,
                f"it is a {operation.method}, and only reading (GET, HEAD) is allowed for its provider. Whoever runs "
                f'this may set allow = ["{operation.method}"], allow_tools = ["{record.tool_id}"] or write = true in '
                "the settings of calls",
            )
        if self._dry_run or settings.dry_run:
            return self.preview(record, arguments)
        request, mended = _request(record, operation, settings, arguments)
        answer, token = await self._exchange(request, settings)
        # A token may be withdrawn before its end. A refused request took no effect, so that it may be sent again.
        if answer.status == 401 and self._tokens.forget(settings.auth, token):
            answer, token = await self._exchange(request, settings)
        result = result_of(answer, [*settings.secrets(), token], settings.max_result_characters)
        return replace(result, mended=mended)

    def preview(self, record: ToolRecord, arguments: Mapping[str, Any]) -> CallResult:
        """Return the request that `call` would send, secrets masked. Raises CallRefused where it cannot be made."""
        settings, operation = self._served(record)
        request, mended = _request(record, operation, settings, arguments)
        return replace(preview_of(request.with_parts(_authentication(settings).masked())), mended=mended)

    def _served(self, record: ToolRecord) -> tuple[ProviderCalls, Operation]:
        settings = self._settings.of(record)
        if record.operation is None:
            raise CallRefused(f"{record.tool_id} is of no API document that says how it is called")
        if settings is None:
            raise CallRefused(
                f"{record.tool_id} cannot be called here: the settings of calls have no provider {record.provider!r} "
                f"(they have: {', '.join(self._settings.provider) or 'none'})"
            )
        return settings, record.operation

    async def _exchange(self, request: HttpRequest, settings: ProviderCalls) -> tuple[HttpAnswer, str]:
        """Return the answer to a request, and the OAuth token that it was sent with; empty without one."""
        auth, token = settings.auth, ""
        if isinstance(auth, ClientCredentials):
            token = await self._tokens.token(auth, settings.timeout_s)
        answer = await send(
            request.with_parts(_authentication(settings, token)),
            timeout_s=settings.timeout_s,
            max_bytes=settings.max_response_bytes,
            public_only=settings.document_server,
            follow_redirects=settings.follow_redirects,
        )
        return answer, token


class HttpCaller:
    """Calls the OpenAPI operations of a router's tools. Give it to an adapter as `call`, or await `call` yourself.

    A tool that the router's selection excludes, or that may not be shown to a model, is not called.
    """

    def __init__(self, router: Router, settings: CallSettings, *, dry_run: bool = False) -> None:
        self._router, self._calls = router, ApiCalls(settings, dry_run=dry_run)

    async def __call__(self, tool_id: str, arguments: Mapping[str, Any]) -> str:
        """Return what a model is to read: the answer, or why there is none. It raises nothing that a model can mend."""
        try:
            result = await self.call(tool_id, arguments)
            return f"{result.text}\n{result.mended}" if result.mended else result.text
        except QuartermasterError as error:
            return f"the call failed: {error}"

    async def call(self, tool_id: str, arguments: Mapping[str, Any]) -> CallResult:
        """Return the result of a call.

        Raises:
            RequestInvalid: There is no such tool, or it may not be used here.
            CallRefused: Nothing was sent: the settings do not allow it, or the arguments do not fit.
            CallFailed: There is no usable answer.
        """
        return self._shown(await self._calls.call(self._record(tool_id), arguments))

    def preview(self, tool_id: str, arguments: Mapping[str, Any]) -> CallResult:
        """Return the request that `call` would send, secrets masked. Raises RequestInvalid and CallRefused."""
        return self._shown(self._calls.preview(self._record(tool_id), arguments))

    def _shown(self, result: CallResult) -> CallResult:
        """Return a result without hidden characters and terminal sequences, unless vendors' text is verbatim here."""
        if self._router.vendor_text is not VendorText.TRUSTED:
            return result
        shown = {name: visible_value(getattr(result, name)) for name in ("text", "value", "rest")}
        return replace(result, **shown)

    def _record(self, tool_id: str) -> ToolRecord:
        record = self._router.complete_record(tool_id)
        if record is None:
            raise RequestInvalid(f"there is no tool {tool_id!r:.200}: search for tools, and call them by their ids")
        if refused := refusal_reason(self._router.selection, record) or self._router.handed(record).unusable:
            raise RequestInvalid(f"{record.tool_id} may not be used here: {refused}")
        return record


def _request(
    record: ToolRecord, operation: Operation, settings: ProviderCalls, arguments: Mapping[str, Any]
) -> tuple[HttpRequest, str]:
    """Return the request of a call without authentication, and what was mended of its arguments, empty for nothing.

    Raises CallRefused where it may not be made.
    """
    base_url = _base_url(record, operation, settings)
    fitting, mended = fitting_arguments(_without_settled(record, operation, settings), arguments)
    try:
        request = build_request(
            operation,
            fitting,
            base_url,
            argument_headers=[*settings.argument_headers, *_authentication(settings).headers],  # these are replaced
            encoded_slashes=settings.encoded_slashes,
        )
    except CallRefused as error:
        raise _refused(record, trusted_text(str(error))) from None
    if (size := len(request.body)) > settings.max_request_bytes:
        most = f"the {settings.max_request_bytes:,} of max_request_bytes"
        raise _refused(record, f"its body has {size:,} bytes, more than {most}")
    return request, mended


def _refused(record: ToolRecord, why: str) -> CallRefused:
    return CallRefused(f"{record.tool_id} was not called: {why}")


def _base_url(record: ToolRecord, operation: Operation, settings: ProviderCalls) -> str:
    """Return the address to send to. Raises CallRefused where the settings name none."""
    if settings.document_server:
        url = next((url for url in operation.servers if url.startswith(("https://", "http://"))), None)
        if url is None:
            raise _refused(record, "its document names no address; write a base_url")
        if not _is_plain(url):
            raise _refused(record, "its document's server is not a plain address; write a base_url")
        return url
    if not operation.has_own_servers:
        return settings.base_url
    for server in operation.servers:
        if server in settings.servers:
            return settings.servers[server]
    own = trusted_text(", ".join(operation.servers)) or "?"
    raise _refused(
        record,
        f"its document sends it to {own}, and not to the API's other server. Where that is right, write servers = "
        '{"that address" = "where to send"} in the settings of calls',
    )


def _is_plain(url: str) -> bool:
    """Return whether the address of a document's server, which a stranger wrote, can only be read in one way."""
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and "@" not in parts.netloc and (parts.port is None or parts.port > 0)
    except ValueError:  # brackets without an IPv6 address, a port that is not a number
        return False
    return named and all(33 <= ord(character) < 127 and character not in '\\?#"<>^`{|}' for character in url)


def _without_settled(record: ToolRecord, operation: Operation, settings: ProviderCalls) -> ToolRecord:
    """Return a record whose schema does not require what the settings send, such as the API's key."""
    parts = _authentication(settings)
    given = {
        "header": {name.lower() for name in parts.headers},
        "query": {key for key, _ in parts.query},
        "cookie": {key for key, _ in parts.cookies},
    }
    settled = {
        parameter.argument
        for parameter in operation.parameters
        if (parameter.wire_name.lower() if parameter.place == "header" else escape(parameter.wire_name))
        in given.get(parameter.place, ())
    }
    required = record.input_schema.get("required")
    if not settled or not isinstance(required, list):
        return record
    return replace(record, input_schema={**record.input_schema, "required": [r for r in required if r not in settled]})


def _authentication(settings: ProviderCalls, token: str = "") -> Parts:
    """Return what the settings add to a request. `token` is that of client credentials."""
    headers, auth = dict(settings.headers), settings.auth
    match auth:
        case Bearer():
            headers["Authorization"] = f"Bearer {auth.token}"
        case ClientCredentials():
            headers["Authorization"] = f"Bearer {token}"
        case Basic():
            headers["Authorization"] = f"Basic {basic_credentials(auth.username, auth.password)}"
        case ApiKey(place="header"):
            headers[auth.name] = auth.value
        case ApiKey(place="query"):
            return Parts(headers, query=((escape(auth.name), escape(auth.value)),))
        case ApiKey():
            return Parts(headers, cookies=((auth.name, escape(auth.value)),))
    return Parts(headers)
