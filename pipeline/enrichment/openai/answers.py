"""A model's answers: the output modes, the JSON Schema that is asked for, and reading the text that came."""

import json
import re
from collections.abc import Mapping, Sequence
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
    def fallback(self) -> "OutputMode":
        """The next mode in the order; the last one is its own fallback."""
        return OutputMode(min(self + 1, OutputMode.TEXT))


def schema(languages: Sequence[str], *, rest_known: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of an answer in OpenAI's strict form: every key required, no others allowed.

    `languages` are codes beside English. With `rest_known`, they are all that is asked for.
    """
    text = {"type": "string"}
    texts = {"type": "array", "items": text}
    fields: dict[str, Any] = {"tool": text}
    if not rest_known:
        fields |= {"when_to_use": text, **dict.fromkeys(_LIST_FIELDS, texts)}
    if languages:
        fields["translations"] = _object(dict.fromkeys(languages, texts))
    return _object(fields)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def read_answer(completion: Completion, question: Question, usage: TokenUsage) -> Outcome:
    """Return the outcome of a question whose completion consumed `usage`.

    A failure of one of the kinds in UNREADABLE may pass if the question is asked again.
    """
    tool_id = question.record.tool_id
    text = completion.content if isinstance(completion.content, str) else ""
    if completion.refusal or completion.finish_reason == "content_filter":
        kind, message = "refusal", completion.refusal or "the server's content filter withheld the answer"
    elif completion.finish_reason == "length":
        kind = "truncated"
        message = (
            "the answer was cut at the model's length limit: raise it in enrichment.parameters (max_completion_tokens)"
        )
    else:
        try:
            return GeneratedExpansion(tool_id, _expansion(_parse(completion.content), question), usage, text)
        except _Unreadable as error:
            kind, message = error.kind, str(error)
        except ValueError as error:
            kind, message = "shape", str(error)
    return GenerationFailure(tool_id, kind, message, usage, text)


class _Unreadable(ValueError):
    """An answer that cannot be used. `kind` is one of UNREADABLE."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def _expansion(said: Mapping[str, Any], question: Question) -> Expansion:
    answers = said.get("answers")  # some models wrap their answer in a list
    row = said if not isinstance(answers, list) else answers[0] if answers else None
    if not isinstance(row, dict):
        raise ValueError("the answer holds no object for this tool")
    name = row.get("tool")
    # Servers without structured output may leave the name out; another name means another tool.
    if name is not None and (not isinstance(name, str) or _letters(name) != _letters(echo(question.record))):
        raise _Unreadable("mismatch", f"the answer is about {str(name)[:80]!r}, not {echo(question.record)!r}")
    if question.known is not None:
        row = {**question.known.to_json(), "translations": row.get("translations")}
        if not (added := Expansion.from_json(row).translations):
            raise _Unreadable("empty", "translations holds no phrase")
        return question.known.translated(added)
    if not row.get("user_phrases"):
        raise _Unreadable("empty", "user_phrases holds no phrase")
    return Expansion.from_json(row)


def _letters(name: str) -> str:
    return re.sub(r"\W+", "", name.casefold())


def _parse(text: object) -> dict[str, Any]:
    """Return the JSON object of an answer, which may stand in a code fence, after thoughts or inside prose."""
    if text is None or text == "":
        raise _Unreadable("empty", "the answer is empty")
    if not isinstance(text, str):
        raise ValueError("the answer is not a text")
    text = _THOUGHT.sub("", text)
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    why, start = "", -1
    for _ in range(_MAX_STARTS):
        if (start := text.find("{", start + 1)) < 0:
            break
        try:
            row, _end = decoder.raw_decode(text, start)
        except RecursionError:
            raise ValueError("the answer is nested too deeply") from None
        except ValueError as error:
            why = why or f" that can be read: {error}"
            continue
        if {"user_phrases", "answers", "tool", "when_to_use", "translations"} & set(row):
            return dict(row)
        keys = ", ".join(row)[:80]
        why = why or f" that can be read: it has none of the keys that were asked for: {keys}"
    raise _Unreadable("shape" if text.strip() else "empty", f"the answer holds no JSON object{why}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
