"""The values that enrichment reads and fills: its context, what it gathered about each tool, and verdicts on texts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pipeline.enrichment.generator import GenerationFailure, TokenUsage
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.records import Catalog
from router.expansion import Expansion
from router.record import ToolRecord


class Consequence(StrEnum):
    """The consequence for a text: DROPPED is not indexed; NOTED is indexed, and the note can be looked up."""

    DROPPED = "dropped"
    NOTED = "noted"


@dataclass(frozen=True, slots=True)
class TextVerdict:
    """One check's verdict on one text of a tool's expansion. A text without a verdict is kept.

    `field` is the expansion's field ("user_phrases", "when_to_use", …), `check` the check's name, `detail` its finding:
    the other tool, the URL, the rank.
    """

    tool_id: str
    field: str
    text: str
    check: str
    consequence: Consequence
    detail: str = ""

    @property
    def dropped(self) -> bool:
        """Whether the text is not indexed."""
        return self.consequence is Consequence.DROPPED


# Checks an expansion against its record: returns the texts that passed, and a verdict on each text that did not.
Screening = Callable[[ToolRecord, Expansion], tuple[Expansion, tuple[TextVerdict, ...]]]

PERSON = "person"  # who wrote phrases.jsonl: see HandPhrases

# Why an expansion is stale, in words.
STALE_BY = {
    "record": "for an older record",
    "prompt": "for another prompt",
    "model": "by another model",
    "parameters": "with other parameters",
    "siblings": "beside other siblings",
}


@dataclass(frozen=True, slots=True)
class StaleExpansion:
    """Why an expansion is an earlier one: what it was asked with that is not today's.

    `reasons` are keys of STALE_BY. `model` wrote it, `run` paid for it.
    """

    reasons: tuple[str, ...]
    model: str
    prompt_version: int
    run: int

    def __str__(self) -> str:
        """Return the reasons in words."""
        return ", ".join(STALE_BY[reason] for reason in self.reasons)


@dataclass(frozen=True, slots=True)
class ScreenedExpansion:
    """The texts of an answer that passed the screen, with the generator and the model that wrote them.

    `key` is the answer's key in the ledger, `answer` the whole answer. `verdicts` say why a text of it is missing.
    `stale` is set where it answers an earlier question. `by_person` are its first phrases, which a person wrote; where
    these are all, PERSON stands for the generator.
    """

    expansion: Expansion
    generator: str
    model: str
    key: str
    answer: Expansion
    verdicts: tuple[TextVerdict, ...] = ()
    stale: StaleExpansion | None = None
    by_person: tuple[str, ...] = ()

    @property
    def generated(self) -> bool:
        """Whether a generator wrote any of it."""
        return self.generator != PERSON


@dataclass
class Enrichment:
    """The expansions of a build's tools, and how they were obtained.

    `written` holds one expansion for each tool id. `asked` counts questions by generator, `reused` counts answers from
    the ledger, `usage` is what this run consumed. `siblings` are tools whose phrases fit each other,
    `suspicious` are verdicts on the records' own texts, `steering` has, by tool id, the parts of a record that made the
    model write what is not the tool's.
    `answers` counts by provider which answers of this run were "of use" or "of no use", and those that a check of all
    answers refused, by its name. `rejected` has the checks that refused an answer of this run, by tool id, `new_keys`
    the keys of the others, `churn` a sentence for each source whose tools are not asked about again.
    `refused` holds, by tool id, the verdicts on an answer that lost all of its phrases. `unavailable` says why the
    model could not be asked any more; empty where it could.
    """

    written: dict[str, ScreenedExpansion] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    failures: list[GenerationFailure] = field(default_factory=list)
    answers: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    rejected: dict[str, str] = field(default_factory=dict)
    churn: tuple[str, ...] = ()
    new_keys: set[str] = field(default_factory=set)
    usage: TokenUsage = field(default_factory=TokenUsage)
    siblings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    suspicious: tuple[TextVerdict, ...] = ()
    steering: Mapping[str, frozenset[str]] = field(default_factory=dict)
    refused: dict[str, tuple[TextVerdict, ...]] = field(default_factory=dict)
    unavailable: str = ""

    def improves(self, tool_id: str, expansion: Expansion) -> bool:
        """Return whether an expansion has at least half as many phrases as the one that a tool has, if any."""
        previous = self.written.get(tool_id)
        return previous is None or 2 * len(expansion.user_phrases) >= len(previous.expansion.user_phrases)

    @property
    def verdicts(self) -> tuple[TextVerdict, ...]:
        """All verdicts: on the records' own texts, then on refused answers, then on expansions, each by tool id."""
        refused = (verdict for _, verdicts in sorted(self.refused.items()) for verdict in verdicts)
        written = (verdict for _, screened in sorted(self.written.items()) for verdict in screened.verdicts)
        return (*self.suspicious, *refused, *written)

    @property
    def stale(self) -> dict[str, StaleExpansion]:
        """The tools whose expansion answers an earlier question, by id."""
        return {tool_id: written.stale for tool_id, written in sorted(self.written.items()) if written.stale}

    @property
    def generators(self) -> dict[str, int]:
        """The number of tools with an expansion by each generator."""
        return dict(sorted(Counter(screened.generator for screened in self.written.values()).items()))


@dataclass(frozen=True)
class EnrichmentContext:
    """The catalog, the ledger and this run's id in it, the observer of the progress, and the screen for answers.

    `catalog_name` is the catalog's name in the ledger; without it no earlier answer serves. `checks` is the version of
    the checks. Of a source at most `max_reasked_share` of the tools is asked about again and again.
    """

    catalog: Catalog
    ledger: Ledger
    run: int
    progress: Progress
    screen: Screening
    catalog_name: str = ""
    checks: str = ""
    max_reasked_share: float = 1.0
