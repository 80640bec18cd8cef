"""The lines of a batch's result files: a completion, or why there is none."""

import json
from typing import Any

from openai.types.chat import ChatCompletion

from pipeline.enrichment.openai.answers import Unreadable
from pipeline.enrichment.openai.chat import Completion, read_completion
from pipeline.enrichment.openai.faults import Fault, fault_kind

# Codes of a line's own error, where its request was never carried out.
_ENDED = {"batch_expired", "batch_cancelled"}
_LONGEST_MESSAGE = 500

BatchResult = Completion | Unreadable | Fault


def read_line(line: bytes) -> tuple[str, BatchResult] | None:
    """Return the custom id of a line and its result; None for a line that belongs to no request.

    The Fault of a request that the batch ended before is of the kind "expired".
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not isinstance(row.get("custom_id"), str):
        return None
    return row["custom_id"], _result(row)


def _result(row: dict[str, Any]) -> BatchResult:
    response = row.get("response")
    if not isinstance(response, dict):
        code, message = _error(row)
        return Fault("expired" if code in _ENDED else "server", message)
    status, body = response.get("status_code"), response.get("body")
    if not isinstance(status, int) or not isinstance(body, dict):
        return Fault("server", f"the line holds no response: {str(response)[:_LONGEST_MESSAGE]}")
    if status >= 300:
        code, message = _error(body)
        return Fault(fault_kind(status, code, message), f"Error code: {status} - {message}")
    choices = body.get("choices")
    fields: dict[str, Any] = {"choices": choices, "usage": body.get("usage")}
    completion = ChatCompletion.model_construct(**fields)
    try:
        return read_completion(completion if isinstance(choices, list) else body, {})
    except ValueError as error:
        return Unreadable("shape", str(error))


def _error(row: dict[str, Any]) -> tuple[object, str]:
    """Return the code and message of an error in OpenAI's format."""
    error = row.get("error")
    fields = error if isinstance(error, dict) else {}
    code, message = fields.get("code"), str(fields.get("message") or f"no reason is given: {row}")
    return (code if isinstance(code, str) else None), message[:_LONGEST_MESSAGE]
