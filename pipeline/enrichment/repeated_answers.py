"""Find answers of one run that say the same about many tools: apologies, refusals, one phrase for all."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from router.expansion import Expansion
from router.record import ToolRecord
from router.text import pretokenize
from router.tools.text_overlap import record_texts, term_set

# See docs/decisions/phrase-checks.md.
_WORDS = 4  # of a shingle
_REPEATED_SHARE = 0.25  # of an answer's shingles
_FEWEST = 3  # tools of which a shingle is written, and at least this share of them
_COMMON_SHARE = 0.02


@dataclass
class RepeatedAnswers:
    """The answers of a run so far, by key.

    An answer is repeated if much of its text was written about many tools, and is not of its own record. It needs no
    knowledge of wordings or languages: a refusal that names each tool is the same but for the name.
    """

    # How many shingles each has, and those of them with none of the record's own words.
    _shingles: dict[str, tuple[int, Sequence[tuple[str, ...]]]] = field(default_factory=dict)
    _tools: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def add(self, key: str, record: ToolRecord, answer: Expansion) -> None:
        """Add an answer about a record."""
        own = term_set(" ".join(record_texts(record)))
        shingles: list[tuple[str, ...]] = []
        count = 0
        for phrase in answer.user_phrases:
            words = pretokenize(phrase).casefold().split()
            supported = [not own.isdisjoint(term_set(word)) for word in words]
            width = min(_WORDS, len(words))
            for start in range(len(words) - width + 1):
                count += 1
                if not any(supported[start : start + width]):
                    shingles.append(tuple(words[start : start + width]))
        self._shingles[key] = count, shingles
        self._tools.update(set(shingles))

    def found(self) -> list[str]:
        """Return the keys of repeated answers."""
        least = max(_FEWEST, _COMMON_SHARE * len(self._shingles))
        return [
            key
            for key, (count, shingles) in self._shingles.items()
            if sum(self._tools[one] >= least for one in shingles) > _REPEATED_SHARE * count
        ]
