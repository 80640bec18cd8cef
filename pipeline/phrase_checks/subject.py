"""Divide a record into its subject and its remarks, and list what was written for it."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from msgspec import structs

from pipeline.enrichment.context import TextVerdict
from pipeline.phrase_checks.screen import LISTS
from router.expansion import Expansion
from router.record import Parameter, ToolRecord
from router.text import identifier_words
from router.tools.text_overlap import term_set
from router.tools.trust.sanitization import sanitize

_SENTENCE_END = re.compile(r"(?<=[.!?;。；])\s+|\n+")
# Quoted, bracketed and tabulated text stands apart from the sentence around it. An apostrophe quotes only at a word's
# edge.
_APART = re.compile(r"[«»\"“”„‹›<>\[\]{}|`]+|(?<!\w)'|'(?!\w)")
_QUOTATION = re.compile(r"[«\"“„‹][^«»\"“”„‹›\s]+(?:\s+[^«»\"“”„‹›\s]+){2,}[»\"”‹›]")
_TRIMMED = " \t,;:-–*#_'"
_FEWEST_CHARACTERS = 8
_LONG_CODE = 40  # without a space: a name or an address, if it is shorter
_LONGEST = 400  # characters of a part that are embedded
# What a tool requires stands in its parameters, which are remarks: a text of these fields steers nobody by saying it.
_FACTS = ("requires", "provides")
_SENTENCE_TERMS = 4
# A claim is made in a few words: of longer sentences the first clauses are the subject, and the others are remarks.
_SUBJECT_WORDS = 20
_LABEL_WORDS = 2
_MOST_REMARKS = 2_000  # embedded of a record: the largest honest one of 15,927 has some hundreds
_CLAUSE_END = re.compile(r"(?<=[,;:、，])\s*")


@dataclass(frozen=True, slots=True)
class Remark:
    """A part of a record beside its subject: the field that has it, and its text."""

    field: str
    text: str


@dataclass(frozen=True)
class Findings:
    """What checks beside other tools, or beside a record's subject, found.

    `verdicts` are in the order of tools. `siblings` maps a tool's id to those of at most three tools that its phrases
    fit as well, `steering` to the remarks of its record that made the model write what is not the tool's. `blind` is
    true where the encoder cannot tell texts apart: nothing is dropped for steering then.
    """

    verdicts: tuple[TextVerdict, ...] = ()
    siblings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    steering: Mapping[str, tuple[Remark, ...]] = field(default_factory=dict)
    blind: bool = False


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
                if field in ("user_phrases", "when_to_use")
                or (field not in _FACTS and len(term_set(text)) >= _SENTENCE_TERMS)
            )
        )


def subject(record: ToolRecord, *, named_only: bool = False) -> str:
    """Return what a record says first of all that its tool is: provider, name, and a sentence without quotations.

    With `named_only` the sentence is left out, as is right where it is in none of the catalog's languages.
    """
    label = _label(record.provider)
    name = f"{label}: {record.name}" if label else record.name
    claim = "" if named_only else subject_claim(record)
    return f"{name}. {claim}" if claim else name


def remarks(record: ToolRecord) -> list[Remark]:
    """Return the parts of a record beside its subject, each once, in the order of the record."""
    claim = subject_claim(record)
    parts = [("provider", part) for part in _clauses(record.provider or "")]
    parts += [("description", part) for part in _parts(record.description) if part != claim and part not in claim]
    for parameter in record.parameters:
        for text in (_parameter_name(parameter), parameter.description, *parameter.enum):
            parts += [("parameters", part) for part in _parts(text)]
    parts += [("parameters", part) for text in schema_texts(record.input_schema) for part in _parts(text)]
    for name in ("categories", "examples"):
        parts += [(name, part) for text in getattr(record, name) for part in _parts(text)]
    return [Remark(name, text[:_LONGEST]) for name, text in islice(dict.fromkeys(parts), _MOST_REMARKS)]


def schema_texts(schema: object) -> Iterator[str]:
    """Yield the titles, defaults and examples of a schema at any depth, which a prompt may show."""
    remaining = [schema]
    while remaining:
        node = remaining.pop()
        if isinstance(node, Mapping):
            for key in ("title", "default", "examples", "example"):
                values = node.get(key)
                values = values if isinstance(values, list) else [values]
                yield from (value for value in values if isinstance(value, str))
            remaining.extend(node.values())
        elif isinstance(node, list):
            remaining.extend(node)


def reduced(record: ToolRecord, foreign: Collection[str]) -> ToolRecord:
    """Return what the index reads of a record that steered: name, subject, and parameters without their texts.

    A parameter whose name is among the `foreign` remarks is left out whole. The record that an agent is handed stays.
    """
    record, _ = sanitize(record)
    return replace(
        record,
        provider=_label(record.provider) or record.provider,
        description=subject_claim(record),
        parameters=tuple(
            structs.replace(parameter, description="", enum=())
            for parameter in record.parameters
            if _parameter_name(parameter) not in foreign
        ),
        categories=(),
        examples=(),
    )


def _label(provider: str | None) -> str:
    """Return the first words of a provider's label: the rest of a long one may say anything."""
    return " ".join((provider or "").split()[:_LABEL_WORDS])


def _clauses(text: str) -> list[str]:
    return [part.strip(_TRIMMED) for part in _CLAUSE_END.split(text) if len(part.split()) > _LABEL_WORDS]


def _parameter_name(parameter: Parameter) -> str:
    return " ".join(identifier_words(parameter.path.rsplit(".", 1)[-1]))


def subject_claim(record: ToolRecord) -> str:
    """Return the first sentence that shares a word with the name, or the first of all where none does.

    Of its clauses as many are kept as have the words of a subject, and one at least.
    """
    # Without quotations of three words or more.
    sentences = [" ".join(_QUOTATION.sub(" ", sentence).split()) for sentence in _sentences(record.description)]
    named = term_set(" ".join((record.name, *identifier_words(record.name))))
    claim = next((one for one in sentences if term_set(one) & named), sentences[0] if sentences else "")
    kept = ""
    for clause in _CLAUSE_END.split(claim):
        if kept and len(f"{kept} {clause}".split()) > _SUBJECT_WORDS:
            break
        kept = f"{kept} {clause}".strip()
    return kept[:_LONGEST]


def _parts(text: str) -> list[str]:
    """Return the sentences, quotations and cells of a text that have two words or more, and long codes."""
    parts = (
        part.strip(_TRIMMED)
        for sentence in _sentences(text)
        for piece in _APART.split(sentence)
        for part in (_CLAUSE_END.split(piece) if len(piece.split()) > _SUBJECT_WORDS else [piece])
    )
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


def _texts(expansion: Expansion) -> Iterator[tuple[str, str]]:
    if expansion.when_to_use:
        yield "when_to_use", expansion.when_to_use
    yield from ((field, text) for field in LISTS for text in getattr(expansion, field))
    for code, phrases in expansion.translations.items():
        yield from ((f"translations.{code}", text) for text in phrases)
