"""Divide a record into its subject and its remarks, and list what was written for it."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from router.expansion import Expansion
from router.record import Parameter, ToolRecord
from router.text import identifier_words
from router.tools.provider_labels import short_label
from router.tools.text_overlap import term_set
from router.tools.trust import sanitize

_SENTENCE_END = re.compile(r"(?<=[.!?;。；])\s+|\n+")
# Quoted, bracketed and tabulated text stands apart from the sentence around it. An apostrophe quotes only at a word's
# edge.
_APART = re.compile(r"[«»\"“”„‹›<>\[\]{}|`]+|(?<!\w)'|'(?!\w)")
_QUOTATION = re.compile(r"[«\"“„‹][^«»\"“”„‹›\s]+(?:\s+[^«»\"“”„‹›\s]+){2,}[»\"”‹›]")
_TRIMMED = " \t,;:-–*#_'"
_FEWEST_CHARACTERS = 8
_LONG_CODE = 40  # without a space: a name or an address, if it is shorter
_LONGEST = 400  # characters of a part that are embedded
_LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories")
_SENTENCE_TERMS = 4


@dataclass(frozen=True, slots=True)
class Remark:
    """A part of a record beside its subject: the field that has it, and its text."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class WrittenTool:
    """A tool and what was written for it.

    `subject` is what its record says first of all that it is. `texts` are (field, text) of the expansion. `judged` are
    those long enough to be a request or a sentence.
    """

    tool_id: str
    record: ToolRecord
    subject: str
    texts: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, record: ToolRecord, expansion: Expansion | None) -> "WrittenTool":
        """Return the tool of a record and its expansion."""
        record, _ = sanitize(record)
        return cls(record.tool_id, record, subject(record), tuple(_texts(expansion)) if expansion else ())

    @property
    def all_texts(self) -> tuple[str, ...]:
        """The texts of all fields, each once."""
        return tuple(dict.fromkeys(text for _, text in self.texts))

    @property
    def judged(self) -> tuple[str, ...]:
        """The texts that are judged, each once: phrases, sentences, and whatever else is as long."""
        return tuple(
            dict.fromkeys(
                text
                for field, text in self.texts
                if field in ("user_phrases", "when_to_use") or len(term_set(text)) >= _SENTENCE_TERMS
            )
        )


def subject(record: ToolRecord) -> str:
    """Return what a record says first of all that its tool is: provider, name, and one sentence without quotations."""
    label = short_label(record.provider)
    name = f"{label}: {record.name}" if label else record.name
    sentence = _subject_sentence(record)
    return f"{name}. {_unquoted(sentence)[:_LONGEST]}" if sentence else name


def remarks(record: ToolRecord) -> list[Remark]:
    """Return the parts of a record beside its subject, each once, in the order of the record."""
    sentence = _subject_sentence(record)
    parts = [("description", part) for part in _parts(record.description.replace(sentence, "\n", 1))]
    parts += [("description", part) for part in _parts(sentence)[1:]]
    for parameter in record.parameters:
        for text in (_parameter_name(parameter), parameter.description, *parameter.enum):
            parts += [("parameters", part) for part in _parts(text)]
    for field in ("categories", "examples"):
        parts += [(field, part) for text in getattr(record, field) for part in _parts(text)]
    return [Remark(field, text[:_LONGEST]) for field, text in dict.fromkeys(parts)]


def reduced(record: ToolRecord, foreign: Collection[str]) -> ToolRecord:
    """Return what the index reads of a record that steered: name, subject, and parameters without their texts.

    A parameter whose name is among the `foreign` remarks is left out whole. The record that an agent is handed stays.
    """
    record, _ = sanitize(record)
    return replace(
        record,
        description=_unquoted(_subject_sentence(record))[:_LONGEST],
        parameters=tuple(
            replace(parameter, description="", enum=())
            for parameter in record.parameters
            if _parameter_name(parameter) not in foreign
        ),
        categories=(),
        examples=(),
    )


def _parameter_name(parameter: Parameter) -> str:
    return " ".join(identifier_words(parameter.path.rsplit(".", 1)[-1]))


def _subject_sentence(record: ToolRecord) -> str:
    """Return the first sentence that shares a word with the name; the first of all where none does."""
    sentences = _sentences(record.description)
    named = term_set(" ".join((record.name, *identifier_words(record.name))))
    return next((one for one in sentences if term_set(_unquoted(one)) & named), sentences[0] if sentences else "")


def _unquoted(sentence: str) -> str:
    """Return a sentence without its quotations of three words or more."""
    return " ".join(_QUOTATION.sub(" ", sentence).split())


def _parts(text: str) -> list[str]:
    """Return the sentences, quotations and cells of a text that have two words or more, and long codes."""
    parts = (part.strip(_TRIMMED) for sentence in _sentences(text) for part in _APART.split(sentence))
    return [part for part in parts if len(part) >= (_FEWEST_CHARACTERS if " " in part else _LONG_CODE)]


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text. Fragments stay together: "e.g. 5", Morse code."""
    sentences: list[str] = []
    for sentence in _SENTENCE_END.split(text.strip()):
        if sentences and min(len(sentences[-1]), len(sentence)) < _FEWEST_CHARACTERS:
            sentences[-1] += f" {sentence}"
        elif sentence:
            sentences.append(sentence)
    return sentences


def _texts(expansion: Expansion) -> list[tuple[str, str]]:
    texts = [("when_to_use", expansion.when_to_use)] if expansion.when_to_use else []
    texts += [(field, text) for field in _LISTS for text in getattr(expansion, field)]
    return texts + [
        (f"translations.{code}", text) for code, phrases in expansion.translations.items() for text in phrases
    ]
