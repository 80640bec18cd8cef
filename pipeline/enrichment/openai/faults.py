"""Faults: why a request brought no completion, read from errors of the client and from HTTP statuses."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import openai

# Kinds of fault that may pass.
TRANSIENT = frozenset({"timeout", "connection", "rate", "server", "expired"})
# Kinds of fault that every other request would meet too.
ABORTING = frozenset({"unusable", "quota"})
_FORMAT_REFUSED = re.compile(r"response_format|json_schema|json_object|structured|guided", re.IGNORECASE)
_UNUSABLE_STATUSES = (401, 403, 404)
_UNUSABLE_CODES = {"invalid_api_key", "model_not_found"}


class Fault(Exception):
    """A request that brought no completion.

    `kind` is one of TRANSIENT ("expired": its batch ended first) or of ABORTING, "refused" (this request is wrong) or
    "format" (the server does not support its response format). `retry_after_s` is the wait that the server dictates, if
    any. `billed` tells whether the server may have computed an answer.
    """

    def __init__(self, kind: str, message: str, retry_after_s: float | None = None, *, billed: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry_after_s = retry_after_s
        self.billed = billed

    @property
    def failure_kind(self) -> str:
        """The kind of the failure of a question that this fault ends."""
        return {"expired": "timeout", "format": "refused"}.get(self.kind, self.kind)


def fault_of(error: openai.APIError, timeout_s: float) -> Fault:
    """Return the fault that an error of the client stands for. `timeout_s` is the time that the request was given."""
    message = str(error)
    if isinstance(error, openai.APITimeoutError):
        return Fault("timeout", f"no answer within {timeout_s:g} s", billed=True)
    if isinstance(error, openai.APIConnectionError):
        return Fault("connection", str(error.__cause__ or error), billed=True)
    if not isinstance(error, openai.APIStatusError):
        return Fault("server", message)
    kind = fault_kind(error.status_code, error.code, message)
    return Fault(kind, message, retry_after(error.response.headers))


def fault_kind(status: int, code: object, message: str) -> str:
    """Return the kind of fault of an HTTP status that is no success, with the code and message of its error."""
    if status == 429:
        return "quota" if code == "insufficient_quota" else "rate"
    if status in _UNUSABLE_STATUSES or code in _UNUSABLE_CODES:
        return "unusable"
    if status in (400, 422):
        return "format" if _FORMAT_REFUSED.search(message) else "refused"
    return "server" if status >= 500 or status in (408, 409) else "refused"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date."""
    milliseconds, text = amount(headers.get("retry-after-ms")), headers.get("retry-after")
    if milliseconds is not None:
        return milliseconds / 1_000
    seconds = amount(text)
    if seconds is not None or not text:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def amount(text: str | None) -> float | None:
    """Return a header's number that is finite and not negative; None for anything else."""
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < float("inf") else None
