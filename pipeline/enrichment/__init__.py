"""ToolRecord → Expansion: for each generator in turn, the ledger's answers first, then a question a tool."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pipeline.enrichment.generator import (
    GeneratedExpansion,
    GenerationFailure,
    Generator,
    Outcome,
    Question,
    TokenUsage,
)
from pipeline.enrichment.prompt import PROMPT_VERSION
from pipeline.enrichment.verdict import TextVerdict
from pipeline.ledger import Ledger, LedgerEntry
from pipeline.progress import Progress
from pipeline.records import Catalog
from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.record import ToolRecord

__all__ = [
    "Enrichment",
    "EnrichmentContext",
    "Expansion",
    "GenerationFailure",
    "Generator",
    "ScreenedExpansion",
    "Screening",
    "contrast",
    "enrich",
    "expansion_key",
    "interleaved_by_provider",
]

# Checks what was written for a record: what is left of it, and a verdict on each text that is not.
Screening = Callable[[ToolRecord, Expansion], tuple[Expansion, tuple[TextVerdict, ...]]]


@dataclass(frozen=True, slots=True)
class ScreenedExpansion:
    """An expansion as it was screened, with who wrote it; `key` is the hash of all that made the answer, `answer` the
    answer itself, `verdicts` why anything of it is missing."""

    expansion: Expansion
    generator: str
    model: str
    key: str
    answer: Expansion
    verdicts: tuple[TextVerdict, ...] = ()


@dataclass
class Enrichment:
    """What a build knows of its tools beyond their own words.

    `asked` counts questions by generator, `reused` answers that the ledger had, `usage` what this run alone took.
    `siblings` are tools whose phrases fit each other, `sibling_failures` why some have no second answer.
    `suspicious` are verdicts on the records' own texts, `refused` by tool those on an answer that nothing was left of.
    """

    written: dict[str, ScreenedExpansion] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    failures: list[GenerationFailure] = field(default_factory=list)
    usage: TokenUsage = field(default_factory=TokenUsage)
    siblings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    suspicious: tuple[TextVerdict, ...] = ()
    refused: dict[str, tuple[TextVerdict, ...]] = field(default_factory=dict)
    sibling_failures: list[GenerationFailure] = field(default_factory=list)

    @property
    def verdicts(self) -> tuple[TextVerdict, ...]:
        """What the checks said of the texts, by tool; of the records' own first."""
        refused = (verdict for _, verdicts in sorted(self.refused.items()) for verdict in verdicts)
        written = (verdict for _, w in sorted(self.written.items()) for verdict in w.verdicts)
        return (*self.suspicious, *refused, *written)

    @property
    def generators(self) -> dict[str, int]:
        """How many tools each generator's answer serves."""
        return dict(sorted(Counter(written.generator for written in self.written.values()).items()))


@dataclass(frozen=True)
class EnrichmentContext:
    """Where questions are put and answers go: the catalog's hashes, the ledger and this run of it, how what comes is
    screened, who watches."""

    catalog: Catalog
    ledger: Ledger
    run: int
    progress: Progress
    screen: Screening


def enrich(
    context: EnrichmentContext, generators: Sequence[Generator], *, batch: Sequence[ToolRecord], into: Enrichment
) -> None:
    """Expansions of a batch of a catalog's records, where any generator has one.

    A tool that one generator fails on, or has nothing to say about, or whose answer does not pass the screen, goes to
    the next. Answers are committed as they come, and added to `into`: a batch that stopped half-way can be given again,
    and only what is missing is asked. Raises RunAborted where a generator cannot be used at all; what it answered
    before is kept.
    """
    ids = {record.tool_id for record in batch}
    into.failures[:] = [failure for failure in into.failures if failure.tool_id not in ids]
    for generator in generators:
        questions = []
        for record in batch:
            extra = None if record.tool_id in into.written else generator.key(record)
            if extra is not None:
                questions.append(Question(expansion_key(context.catalog, record, generator, extra), record))
        _answer(context, generator, questions, into)


def contrast(
    context: EnrichmentContext,
    generators: Sequence[Generator],
    siblings: Mapping[str, Sequence[str]],
    *,
    into: Enrichment,
) -> None:
    """Ask again about tools whose phrases fit their siblings as well, the siblings shown. The answer replaces the first
    in `into`; a failure, or an answer with less than half as many phrases, leaves it. Only generators that can be shown
    siblings are asked, about what they wrote.

    The key holds the siblings' hashes: the same siblings are never paid for twice. Raises RunAborted as `enrich` does.
    """
    records = {record.tool_id: record for record in context.catalog.records}
    failed = len(into.failures)
    for generator in generators:
        if not generator.accepts_siblings:
            continue
        questions = []
        for tool_id, near in siblings.items():
            written = into.written.get(tool_id)
            extra = generator.key(records[tool_id])
            if written is not None and written.generator == generator.name and extra is not None:
                extra = {**extra, "siblings": [context.catalog.hashes[sibling] for sibling in near]}
                key = expansion_key(context.catalog, records[tool_id], generator, extra)
                questions.append(Question(key, records[tool_id], tuple(records[sibling] for sibling in near)))
        try:
            _answer(context, generator, questions, into)
        finally:
            into.sibling_failures += into.failures[failed:]
            del into.failures[failed:]


def interleaved_by_provider(records: Sequence[ToolRecord]) -> list[ToolRecord]:
    """The records, one of each provider in turn: where a budget ends early, no provider is left out for another."""
    turns: Counter[str | None] = Counter()
    turn = []
    for record in records:
        turn.append(turns[record.provider])
        turns[record.provider] += 1
    return [record for _, record in sorted(zip(turn, records, strict=True), key=lambda item: item[0])]


def _answer(context: EnrichmentContext, generator: Generator, questions: Sequence[Question], into: Enrichment) -> None:
    known = context.ledger.expansions([question.key for question in questions])
    for question in questions:
        if answer := known.get(question.key):
            into.reused += 1
            _accept(context, into, question, generator, Expansion.from_json(answer))
    unknown = {q.record.tool_id: q for q in questions if q.key not in known}
    if not unknown:
        return
    groups = generator.generate(list(unknown.values()))
    interrupted: BaseException | None = None
    with ThreadPoolExecutor(1, "ledger") as clerk:
        while True:
            try:
                group = next(groups) if interrupted is None else _told(groups, interrupted)
            except StopIteration:
                return
            interrupted = None
            # Committed before the next group is asked for: a kill loses what was under way, and nothing else. In a
            # thread of its own, where no Ctrl-C and no time-out of a task reaches the half of a commit.
            asked = [outcome for outcome in group if isinstance(outcome, GeneratedExpansion) or outcome.asked]
            entries = [_entry(context.catalog, outcome, generator, unknown[outcome.tool_id].key) for outcome in asked]
            try:
                clerk.submit(_keep, context, entries).result()
                into.asked[generator.name] += len(asked)
                for outcome in group:
                    into.usage = into.usage + outcome.usage
                    if isinstance(outcome, GeneratedExpansion):
                        _accept(context, into, unknown[outcome.tool_id], generator, outcome.expansion)
                    else:
                        into.failures.append(outcome)
            except BaseException as error:  # noqa: BLE001 - raised again, by the generator
                clerk.submit(_keep, context, entries).result()  # raises again where the ledger cannot be written
                interrupted = error


def _keep(context: EnrichmentContext, entries: list[LedgerEntry]) -> None:
    """Commit these entries, unless they are already."""
    if entries:
        context.ledger.put_entries(context.run, entries)
        entries.clear()


def _told(groups: Iterator[Sequence[Outcome]], interrupted: BaseException) -> Sequence[Outcome]:
    """The next group of a generator that hears of an interruption: it may still give what was under way, and then
    raises it."""
    throw: Callable[[BaseException], Sequence[Outcome]] | None = getattr(groups, "throw", None)
    if throw is None:
        raise interrupted
    return throw(interrupted)


def _accept(
    context: EnrichmentContext, into: Enrichment, question: Question, generator: Generator, answer: Expansion
) -> None:
    record = question.record
    kept, verdicts = context.screen(record, answer)
    if not kept.user_phrases:
        into.refused[record.tool_id] = verdicts
        checks = ", ".join(sorted({verdict.check for verdict in verdicts}))
        into.failures.append(
            GenerationFailure(record.tool_id, "rejected", f"no phrase of the answer passed the checks: {checks}")
        )
        return
    context.progress.advance()
    before = into.written.get(record.tool_id)
    if before is not None and 2 * len(kept.user_phrases) < len(before.expansion.user_phrases):
        return
    into.written[record.tool_id] = ScreenedExpansion(
        kept, generator.name, generator.model, question.key, answer, verdicts
    )


def expansion_key(catalog: Catalog, record: ToolRecord, generator: Generator, extra: Mapping[str, Any]) -> str:
    """The key of an answer in the ledger: the hash of record, prompt, generator, model and what else it depends on."""
    return fingerprint([catalog.hashes[record.tool_id], PROMPT_VERSION, generator.name, generator.model, extra])


def _entry(catalog: Catalog, outcome: Outcome, generator: Generator, key: str) -> LedgerEntry:
    failure = outcome if isinstance(outcome, GenerationFailure) else None
    return LedgerEntry(
        expansion_key=key,
        record_hash=catalog.hashes[outcome.tool_id],
        tool_id=outcome.tool_id,
        generator=generator.name,
        model=generator.model,
        prompt_version=PROMPT_VERSION,
        prompt_tokens=outcome.usage.prompt_tokens,
        cached_tokens=outcome.usage.cached_tokens,
        completion_tokens=outcome.usage.completion_tokens,
        cost_usd=outcome.usage.cost_usd,
        expansion=None if isinstance(outcome, GenerationFailure) else outcome.expansion.to_json(),
        kind=failure.kind if failure else "",
        message=failure.message if failure else "",
    )
