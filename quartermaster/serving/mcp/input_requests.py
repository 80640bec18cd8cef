"""What an upstream asks of a user or a model, as it may be shown to them: with the server's name, and within bounds.

Servers are strangers. Their questions lose hidden characters, as their answers do, and what a client would not show is
not passed on: other servers' context, metadata, tasks.
"""

import ipaddress
from typing import Any
from urllib.parse import urlsplit

import mcp_types as types
import msgspec
from pydantic import ValidationError

from quartermaster.serving.mcp.calling_client import InputRequest, error_data
from router.tools.trust import visible_value

_MAX_MESSAGE = 4_000  # characters
_MAX_URL = 2_000
_MAX_SCHEMA_BYTES = 65_536
_MAX_SAMPLING_BYTES = 1_048_576


def presentable(request: InputRequest, server: str) -> InputRequest | types.ErrorData:
    """Return a question as it may be passed on, or the error that the server gets for it."""
    if isinstance(request.params, types.ElicitRequestFormParams):
        return _form(request.params, server)
    if isinstance(request.params, types.ElicitRequestURLParams):
        return _url(request.params, server)
    return _sampling(request.params, server)


def _form(params: types.ElicitRequestFormParams, server: str) -> InputRequest | types.ErrorData:
    schema: dict[str, Any] = visible_value(params.requested_schema)
    if len(msgspec.json.encode(schema)) > _MAX_SCHEMA_BYTES:
        return error_data(f"the form has more than {_MAX_SCHEMA_BYTES:,} bytes")
    message = _named(params.message, server)
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def _url(params: types.ElicitRequestURLParams, server: str) -> InputRequest | types.ErrorData:
    if not _may_be_visited(params.url):
        return error_data("the URL is not passed on: it must be https (or http at this machine), without a user")
    return types.ElicitRequest(
        params=types.ElicitRequestURLParams(
            message=_named(params.message, server), url=params.url, elicitation_id=params.elicitation_id
        )
    )


def _may_be_visited(url: str) -> bool:
    if len(url) > _MAX_URL or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if not host or parts.username is not None or parts.password is not None:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(host))


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _sampling(params: types.CreateMessageRequestParams, server: str) -> InputRequest | types.ErrorData:
    asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    if len(msgspec.json.encode(asked)) > _MAX_SAMPLING_BYTES:
        return error_data(f"the messages have more than {_MAX_SAMPLING_BYTES:,} bytes")
    # `includeContext` would add what the client knows of other servers; `_meta` and `task` are between two ends alone.
    shown = visible_value({k: v for k, v in asked.items() if k not in ("_meta", "task", "includeContext", "metadata")})
    origin = f"The MCP server {server!r} asks for this."
    shown["systemPrompt"] = f"{origin}\n\n{shown['systemPrompt']}" if shown.get("systemPrompt") else origin
    try:
        return types.CreateMessageRequest(params=types.CreateMessageRequestParams.model_validate(shown, by_name=False))
    except ValidationError:
        return error_data("the messages are not as MCP has them")


def _named(message: str, server: str) -> str:
    text: str = visible_value(message)
    shortened = text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…"
    return f"The MCP server {server!r} asks: {shortened}"
