"""What a model answers: the structured output asked for, and reading what came instead."""

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from pipeline.enrichment.generator import Question
from pipeline.enrichment.prompt import echo
from router.expansion import Expansion

_LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories")
_THOUGHT = re.compile(r"^.*</think>", re.DOTALL)
_TRIES = 200  # braces of an answer that are tried as the beginning of its object


class Unreadable(ValueError):
    """An answer that cannot be used. `kind` is "shape", "empty" or "mismatch"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def schema(languages: Sequence[str], packed: bool) -> dict[str, Any]:
    """The JSON Schema of an answer, in the strict form that OpenAI takes: every key required, none besides."""
    text = {"type": "string"}
    texts = {"type": "array", "items": text}
    fields: dict[str, Any] = {"tool": text, "when_to_use": text, **dict.fromkeys(_LISTS, texts)}
    if languages:
        fields["translations"] = _object(dict.fromkeys(languages, texts))
    answer = _object(fields)
    return _object({"answers": {"type": "array", "items": answer}}) if packed else answer


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read(text: object, questions: Sequence[Question]) -> dict[str, Expansion | Unreadable]:
    """The expansion of each question by its key, or why there is none. One question's answer may stand alone."""
    try:
        row = _parse(text)
    except Unreadable as error:
        return {question.key: error for question in questions}
    if len(questions) == 1:
        rows = row.get("answers") if isinstance(row.get("answers"), list) else [row]
        return {questions[0].key: _expansion(rows[0] if rows else None, questions[0])}
    rows = row.get("answers")
    named = (
        [r for r in rows if isinstance(r, dict) and isinstance(r.get("tool"), str)] if isinstance(rows, list) else []
    )
    by_name = {row["tool"]: row for row in named}
    return {question.key: _expansion(by_name.get(echo(question.record)), question) for question in questions}


def _expansion(row: object, question: Question) -> Expansion | Unreadable:
    if not isinstance(row, dict):
        return Unreadable("shape", "the answer holds no object for this tool")
    about = row.get("tool")
    # Servers without structured output may leave the name out; one that says another name means another tool.
    if about is not None and (not isinstance(about, str) or _plain(about) != _plain(echo(question.record))):
        return Unreadable("mismatch", f"the answer is about {str(about)[:80]!r}, not {echo(question.record)!r}")
    if not row.get("user_phrases"):
        return Unreadable("empty", "user_phrases holds no phrase")
    try:
        return Expansion.from_json(row)
    except ValueError as error:
        return Unreadable("shape", str(error))


def _plain(name: str) -> str:
    return re.sub(r"\W+", "", name.casefold())


def _parse(text: object) -> dict[str, Any]:
    """The JSON object of an answer: bare, in a code fence, after thoughts, inside prose."""
    if text is None or text == "":
        raise Unreadable("empty", "the answer is empty")
    if not isinstance(text, str):
        raise Unreadable("shape", "the answer is not a text")
    text = _THOUGHT.sub("", text)
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    found: ValueError | None = None
    start = text.find("{")
    for _ in range(_TRIES):
        if start < 0:
            break
        try:
            row, _end = decoder.raw_decode(text, start)
        except RecursionError:
            raise Unreadable("shape", "the answer is nested too deeply") from None
        except ValueError as error:
            found = found or error
        else:
            if {"user_phrases", "answers", "tool", "when_to_use"} & set(row):
                return dict(row)
            found = found or ValueError(f"it has none of the keys that were asked for: {', '.join(row)[:80]}")
        start = text.find("{", start + 1)
    why = f" that can be read: {found}" if found else ""
    raise Unreadable("empty" if not text.strip() else "shape", f"the answer holds no JSON object{why}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
