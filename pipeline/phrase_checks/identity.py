"""Find names and labels that claim another source's identity: they support nothing that was written for a tool."""

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from pipeline.phrase_checks.subject import Remark, WrittenTool, subject, subject_claim
from router.record import ToolRecord
from router.text import identifier_words
from router.tools.foreign_text import foreign_script
from router.tools.text_overlap import label_words, term_set

# Shorter names differ by a letter without being each other's.
_SHORTEST = 5
_LONGEST = 64  # characters and words that are compared
_SEVERAL = object()
_FEWEST_WORDS = 2  # of a name within a longer one: "create" is within many
_CLAUSE_WORDS = 3
_CLAUSE_END = re.compile(r"[,;:](?=\s)|[、，；：]")
_SENTENCE_END = re.compile(r"(?<=[^.]{2})(?:[.!?;。；](?=\s|\Z)|\n)")


def source_of(record: ToolRecord) -> tuple[str, str]:
    """Return what tells a record's source from others: its file and label. A file may collect tools of many vendors."""
    return record.origin.file, record.provider or ""


def earned_subjects(tools: Sequence[WrittenTool]) -> list[tuple[str, tuple[Remark, ...]]]:
    """Return for each tool the subject that its record earns, and the label and name that it claims without.

    Of the sentence the first clause counts: any other may say anything. A name earns nothing where the description's
    first sentence says nothing of it, or not all while it is nearly that of another source's tool, or has it within;
    without a description, or beside one in another language, it stays. Nor does a label that is nearly another, or has
    it within. Whom a label belongs to is not judged here.
    """
    labels, names = _Spellings(1), _Spellings(_FEWEST_WORDS)
    for tool in tools:
        labels.add(label_words(tool.record.provider), tool.record.provider)
        names.add(_name_words(tool.record), source_of(tool.record))
    found: list[tuple[str, tuple[Remark, ...]]] = []
    for tool in tools:
        record, claims = replace(tool.record, description=_first_clause(subject_claim(tool.record))), []
        sentence = _SENTENCE_END.split(tool.record.description.strip(), maxsplit=1)[0]
        if labels.claims(label_words(record.provider), record.provider):
            claims.append(Remark("provider", record.provider or ""))
            record = replace(record, provider=None)
        named = term_set(" ".join(identifier_words(record.name)))
        said = named & term_set(sentence) if sentence else named
        claims_name = names.claims(_name_words(record), source_of(tool.record))
        unread = bool(sentence and foreign_script(sentence))  # it can say nothing of an English name
        if sentence and ((not said and not unread) or (said < named and claims_name)):
            if not names.has(_name_words(record), source_of(tool.record)):  # rivals have equal names
                claims.append(Remark("name", record.name))
            record = replace(record, name=_first_clause(sentence), description="")
        found.append((subject(record), tuple(claims)))
    return found


def _first_clause(sentence: str) -> str:
    """Return a sentence up to the end of the clause with its third word."""
    ends = (end.start() for end in _CLAUSE_END.finditer(sentence))
    clauses = (sentence[:end] for end in ends)
    return next((clause for clause in clauses if len(clause.split()) >= _CLAUSE_WORDS), sentence)


def _name_words(record: ToolRecord) -> tuple[str, ...]:
    return tuple(word.casefold() for word in identifier_words(record.name))


class _Spellings:
    """The names of several sources, by spelling."""

    def __init__(self, fewest_words: int) -> None:
        """A name of `fewest_words` is looked for within longer ones."""
        self._fewest_words = fewest_words
        # By spelling the source that has it; _SEVERAL where several do.
        self._whole: dict[str, Hashable] = {}
        self._nearly: dict[str, Hashable] = {}

    def add(self, words: Sequence[str], source: Hashable) -> None:
        """Add a name of a source."""
        whole = "".join(words)
        if len(words) >= self._fewest_words and _SHORTEST <= len(whole) <= _LONGEST:
            for table, spellings in ((self._whole, [whole]), (self._nearly, _without_a_letter(whole))):
                for spelling in spellings:
                    table[spelling] = source if table.get(spelling, source) == source else _SEVERAL

    def has(self, words: Sequence[str], source: Hashable) -> bool:
        """Return whether another source has the name."""
        return self._whole.get("".join(words), source) != source

    def claims(self, words: Sequence[str], source: Hashable) -> bool:
        """Return whether a name is spelled like another source's, but for a letter or for more words."""
        whole = "".join(words[:_LONGEST])[:_LONGEST]
        if len(whole) < _SHORTEST:
            return False
        shorter = _without_a_letter(whole)
        wholes = (whole, *shorter, *_parts(words[:_LONGEST], self._fewest_words))
        return any(self._whole.get(one, source) != source for one in wholes) or any(
            self._nearly.get(one, source) != source for one in (whole, *shorter)
        )


def _without_a_letter(text: str) -> list[str]:
    """Return a text without each of its letters: texts that differ by a letter, or by two swapped, share one."""
    return [text[:place] + text[place + 1 :] for place in range(len(text))]


def _parts(words: Sequence[str], fewest: int) -> Iterator[str]:
    for first in range(len(words)):
        for end in range(first + fewest, len(words) + 1):
            yield "".join(words[first:end])
