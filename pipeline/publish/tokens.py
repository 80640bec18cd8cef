"""Tokens of a tool as a model is given it, counted at build time so that packing costs nothing at query time."""

import json
import math
import threading
from collections.abc import Callable

from router.record import ToolRecord

_ENCODING = "cl100k_base"
_DEADLINE_S = 10.0


class TokenCounter:
    """Counts with tiktoken where its file is at hand, else by a quarter of the characters, rounded up.

    `name` says which: "cl100k_base" or "estimate" (ToolPicker's, which errs on the high side for JSON).
    """

    def __init__(self) -> None:
        encode = _tiktoken()
        self.name = _ENCODING if encode else "estimate"
        self._length: Callable[[str], int] = (
            (lambda text: len(encode(text))) if encode else (lambda t: math.ceil(len(t) / 4))
        )

    def count(self, record: ToolRecord) -> int:
        """Tokens of a tool in OpenAI's function form, as compact JSON."""
        function = {"name": record.name, "description": record.description, "parameters": dict(record.input_schema)}
        return self._length(
            json.dumps({"type": "function", "function": function}, separators=(",", ":"), ensure_ascii=False)
        )


def _tiktoken() -> Callable[[str], list[int]] | None:
    """tiktoken's encoder, or None: it fetches its file at first use, without a time-out of its own."""
    import requests
    import tiktoken

    found: list[tiktoken.Encoding] = []

    def load() -> None:
        try:
            found.append(tiktoken.get_encoding(_ENCODING))
        except (requests.RequestException, OSError, ValueError):
            return  # no file and no network: the estimate says that it is one

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    thread.join(_DEADLINE_S)
    return found[0].encode_ordinary if found else None
