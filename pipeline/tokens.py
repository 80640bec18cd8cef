"""Tokens: of a tool as a model is given it, and of what a model is asked."""

import json
import math
import threading
from collections.abc import Callable
from functools import cache

from router.record import ToolRecord

_ENCODING = "cl100k_base"
_LATEST = "o200k_base"
_DEADLINE_S = 10.0


class TokenCounter:
    """Counts with tiktoken where its file is at hand, else by a quarter of the characters, rounded up.

    `name` says which: the encoding, or "estimate" (ToolPicker's, which errs on the high side for JSON).
    """

    def __init__(self, encoding: str = _ENCODING) -> None:
        encode = _tiktoken(encoding)
        self.name = encoding if encode else "estimate"
        self.length: Callable[[str], int] = (
            (lambda text: len(encode(text))) if encode else (lambda text: math.ceil(len(text) / 4))
        )

    @classmethod
    def of_model(cls, model: str) -> "TokenCounter":
        """The counter of a chat model; of OpenAI's latest encoding where tiktoken does not know the model."""
        import tiktoken.model

        try:
            return cls(tiktoken.model.encoding_name_for_model(model))
        except KeyError:
            return cls(_LATEST)

    def count(self, record: ToolRecord) -> int:
        """Tokens of a tool in OpenAI's function form, as compact JSON."""
        function = {"name": record.name, "description": record.description, "parameters": dict(record.input_schema)}
        return self.length(
            json.dumps({"type": "function", "function": function}, separators=(",", ":"), ensure_ascii=False)
        )


@cache
def _tiktoken(encoding: str) -> Callable[[str], list[int]] | None:
    """tiktoken's encoder, or None: it fetches its file at first use, without a time-out of its own."""
    import requests
    import tiktoken

    found: list[tiktoken.Encoding] = []

    def load() -> None:
        try:
            found.append(tiktoken.get_encoding(encoding))
        except (requests.RequestException, OSError, ValueError):
            return  # no file and no network: the estimate says that it is one

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    thread.join(_DEADLINE_S)
    return found[0].encode_ordinary if found else None
