"""Counts tokens: of tools as a model is given them, and of prompts."""

import math
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.provider_formats.formats import Detail, ProviderFormat
from router.provider_formats.shaping import variants
from router.record import ToolRecord

_ENCODING = "cl100k_base"
_LATEST = "o200k_base"
_DEADLINE_S = 10.0
# Every encoding of OpenAI's cuts between two ASCII marks and a letter: its pattern takes a run of marks whole, and only
# a single mark together with the letters behind it. So the parts of a text can be counted apart and added up.
_SEAM = re.compile(r"(?<=[!-/:-@\[-`{-~]{2})(?=[A-Za-z])")


class TokenCounter:
    """Counts with tiktoken, or estimates a quarter of the characters, rounded up, where its file cannot be had.

    `name` is that of the encoding, or "estimate" (as in ToolPicker, which errs on the high side for JSON). `length`
    returns the tokens of a text.
    """

    def __init__(self, encoding: str = _ENCODING) -> None:
        encode = _tiktoken(encoding)
        self.name = encoding if encode else "estimate"
        self.length: Callable[[str], int] = (
            (lambda text: len(encode(text))) if encode else (lambda text: math.ceil(len(text) / 4))
        )

    @classmethod
    def of_model(cls, model: str) -> "TokenCounter":
        """Return the counter of a chat model; of OpenAI's latest encoding for a model unknown to tiktoken."""
        import tiktoken.model

        try:
            return cls(tiktoken.model.encoding_name_for_model(model))
        except KeyError:
            return cls(_LATEST)

    def counts(self, records: Sequence[ToolRecord]) -> NDArray[np.int32]:
        """Return the tokens of each tool in every form and detail, as compact JSON: int32 (tools, forms, details)."""
        return self.table([self.row(record) for record in records])

    @staticmethod
    def table(rows: Sequence[Sequence[int]]) -> NDArray[np.int32]:
        """Return the rows of tools as `counts` does."""
        return np.array(rows, np.int32).reshape(len(rows), len(ProviderFormat), len(Detail))

    def count(
        self, record: ToolRecord, form: ProviderFormat = ProviderFormat.OPENAI, detail: Detail = Detail.FULL
    ) -> int:
        """Return the tokens of a tool in one form and detail."""
        return int(self.counts([record])[0, list(ProviderFormat).index(form), list(Detail).index(detail)])

    def row(self, record: ToolRecord) -> list[int]:
        """Return the tokens of a tool in each form, and in each form in each detail."""
        return list(self._of_variants(record))

    def _of_variants(self, record: ToolRecord) -> Iterator[int]:
        """Yield the tokens of a tool in each form, and in each form in each detail."""
        # The schema is most of a tool's text, and most forms have the same one: it is counted once.
        schemas: dict[int, _Text] = {}
        for (form, _), (tool, schema) in zip(product(ProviderFormat, Detail), variants(record), strict=True):
            if form.spec.schema_path[0] not in tool:  # a function without parameters, where a form leaves them out
                yield self.length(_json(tool))
                continue
            if id(schema) not in schemas:
                schemas[id(schema)] = self._text(_json(schema))
            before, after = _around_schema(tool, form.spec.schema_path)
            yield self._between(before, schemas[id(schema)], after)

    def _text(self, text: str) -> "_Text":
        """Return a text with all between its first and its last seam counted."""
        seams = [] if self.name == "estimate" else [match.start() for match in _SEAM.finditer(text)]
        if not seams:
            return _Text(text, 0, "")
        return _Text(text[: seams[0]], self.length(text[seams[0] : seams[-1]]), text[seams[-1] :])

    def _between(self, before: str, text: "_Text", after: str) -> int:
        """Return the tokens of a text between two others."""
        if not text.last:
            return self.length(f"{before}{text.first}{after}")
        return self.length(before + text.first) + text.tokens + self.length(text.last + after)


@dataclass(frozen=True, slots=True)
class _Text:
    """A text between others: the tokens between its first and its last part, which may merge with their neighbours."""

    first: str
    tokens: int
    last: str


def _json(value: Any) -> str:
    """Return a value as compact JSON."""
    return msgspec.json.encode(value).decode()


def _around_schema(tool: dict[str, Any], path: Sequence[str]) -> tuple[str, str]:
    """Return the compact JSON of a tool before the schema that `path` leads to, and behind it."""
    # No text within has it: there a quotation mark has a backslash before it.
    mark = f'"{path[-1]}":0'
    before, _, after = _json(_with_zero(tool, path)).partition(mark)
    return before + mark[:-1], after


def _with_zero(tool: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return a copy of a tool with 0 at `path`."""
    key, *below = path
    return {**tool, key: _with_zero(tool[key], below) if below else 0}


@cache
def _tiktoken(encoding: str) -> Callable[[str], list[int]] | None:
    """Return tiktoken's encoder, or None where its file cannot be had within the deadline.

    tiktoken fetches the file at first use, without a time-out.
    """
    import tiktoken

    loaded: list[tiktoken.Encoding] = []

    def load() -> None:
        try:
            loaded.append(tiktoken.get_encoding(encoding))
        except (OSError, ValueError):  # those of requests, which it fetches with, are OSErrors
            return  # no file and no network: the counter estimates

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    thread.join(_DEADLINE_S)
    return loaded[0].encode_ordinary if loaded else None
