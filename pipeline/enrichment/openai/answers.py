"""A model's answers: the output modes, the JSON Schema that is asked for, and reading the text that came."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any, NoReturn

from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai.chat import Completion
from pipeline.enrichment.prompt import echo
from router.expansion import Expansion

_LIST_FIELDS = ("user_phrases", "synonyms", "related_concepts", "task_categories", "requires", "provides")
_THOUGHT = re.compile(r"^.*</think>", re.DOTALL)
_MAX_STARTS = 200  # braces of an answer that are tried as the beginning of its object


class OutputMode(IntEnum):
    """How the form of an answer is asked for, in fallback order: compatible servers support the modes unequally.

    The ledger stores the number.
    """

    JSON_SCHEMA = 0
    JSON_OBJECT = 1
    TEXT = 2

    @property
    def has_fallback(self) -> bool:
        """Whether another mode follows."""
        return self is not OutputMode.TEXT

    @property
    def fallback(self) -> "OutputMode":
        """The next mode in the order; the last one is its own fallback."""
        return OutputMode(min(self + 1, OutputMode.TEXT))


class Unreadable(ValueError):
    """An answer that cannot be used. `kind` is "shape", "empty" or "mismatch"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def schema(languages: Sequence[str], packed: bool) -> dict[str, Any]:
    """Return the JSON Schema of an answer in OpenAI's strict form: every key required, no others allowed.

    `languages` are codes beside English; `packed` tells that one answer holds several tools.
    """
    text = {"type": "string"}
    texts = {"type": "array", "items": text}
    fields: dict[str, Any] = {"tool": text, "when_to_use": text, **dict.fromkeys(_LIST_FIELDS, texts)}
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


def read_answers(
    completion: Completion, questions: Sequence[Question]
) -> Mapping[str, Expansion | Unreadable | GenerationFailure]:
    """Return the answer to each question of a completion, by key.

    A refusal or a truncated completion is a failure of all questions. Unreadable answers may be asked for again.
    """
    if completion.refusal or completion.finish_reason == "content_filter":
        kind, message = "refusal", completion.refusal or "the server's content filter withheld the answer"
    elif completion.finish_reason == "length":
        kind = "truncated"
        message = (
            "the answer was cut at the model's length limit: raise it in enrichment.parameters (max_completion_tokens)"
        )
    else:
        return _read(completion.content, questions)
    return {question.key: GenerationFailure(question.record.tool_id, kind, message) for question in questions}


def outcome_of(
    question: Question,
    answer: Expansion | Unreadable | GenerationFailure,
    usage: TokenUsage,
    completion: Completion | None = None,
) -> Outcome:
    """Return the outcome of a question whose answer was read, with its usage and the text of its completion."""
    tool_id = question.record.tool_id
    text = completion.content if completion and isinstance(completion.content, str) else ""
    if isinstance(answer, Expansion):
        return GeneratedExpansion(tool_id, answer, usage, text)
    if isinstance(answer, Unreadable):
        return GenerationFailure(tool_id, answer.kind, str(answer), usage, text)
    return replace(answer, usage=usage, completion=text)


def _read(text: object, questions: Sequence[Question]) -> dict[str, Expansion | Unreadable]:
    """Return each question's expansion by key, or why there is none. A single answer may stand outside a list."""
    try:
        row = _parse(text)
    except Unreadable as error:
        return {question.key: error for question in questions}
    if len(questions) == 1:
        rows = row.get("answers") if isinstance(row.get("answers"), list) else [row]
        return {questions[0].key: _expansion(rows[0] if rows else None, questions[0])}
    rows = row.get("answers")
    by_name = {
        row["tool"]: row
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and isinstance(row.get("tool"), str)
    }
    return {question.key: _expansion(by_name.get(echo(question.record)), question) for question in questions}


def _expansion(row: object, question: Question) -> Expansion | Unreadable:
    if not isinstance(row, dict):
        return Unreadable("shape", "the answer holds no object for this tool")
    name = row.get("tool")
    # Servers without structured output may leave the name out; another name means another tool.
    if name is not None and (not isinstance(name, str) or _letters(name) != _letters(echo(question.record))):
        return Unreadable("mismatch", f"the answer is about {str(name)[:80]!r}, not {echo(question.record)!r}")
    if not row.get("user_phrases"):
        return Unreadable("empty", "user_phrases holds no phrase")
    try:
        return Expansion.from_json(row)
    except ValueError as error:
        return Unreadable("shape", str(error))


def _letters(name: str) -> str:
    return re.sub(r"\W+", "", name.casefold())


def _parse(text: object) -> dict[str, Any]:
    """Return the JSON object of an answer, which may stand in a code fence, after thoughts or inside prose."""
    if text is None or text == "":
        raise Unreadable("empty", "the answer is empty")
    if not isinstance(text, str):
        raise Unreadable("shape", "the answer is not a text")
    text = _THOUGHT.sub("", text)
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    first_error: ValueError | None = None
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            break
        try:
            row, _end = decoder.raw_decode(text, start)
        except RecursionError:
            raise Unreadable("shape", "the answer is nested too deeply") from None
        except ValueError as error:
            first_error = first_error or error
        else:
            if {"user_phrases", "answers", "tool", "when_to_use"} & set(row):
                return dict(row)
            first_error = first_error or ValueError(
                f"it has none of the keys that were asked for: {', '.join(row)[:80]}"
            )
        start = text.find("{", start + 1)
    why = f" that can be read: {first_error}" if first_error else ""
    raise Unreadable("empty" if not text.strip() else "shape", f"the answer holds no JSON object{why}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
