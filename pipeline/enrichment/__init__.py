"""ToolRecord → Expansion: for each generator in turn, the ledger's answers first, then a question a tool."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.enrichment.expansion import Expansion
from pipeline.enrichment.generator import Answer, Failure, Generator, Usage
from pipeline.enrichment.prompt import PROMPT_VERSION
from pipeline.ledger import Entry, Ledger
from pipeline.progress import Progress
from pipeline.records import Catalog
from router.fingerprint import fingerprint
from router.record import ToolRecord

__all__ = ["Enrichment", "Expansion", "Failure", "Generator", "Written", "enrich"]


@dataclass(frozen=True, slots=True)
class Written:
    """An expansion with who wrote it; `key` is the hash of all that made it."""

    expansion: Expansion
    generator: str
    model: str
    key: str


@dataclass
class Enrichment:
    """What a build knows of its tools beyond their own words. `asked` counts questions by generator, `reused` answers
    that the ledger had, `usage` what this run alone took."""

    written: dict[str, Written] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    failures: list[Failure] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    @property
    def generators(self) -> dict[str, int]:
        """How many tools each generator's answer serves."""
        return dict(sorted(Counter(written.generator for written in self.written.values()).items()))


def enrich(
    catalog: Catalog,
    generators: Sequence[Generator],
    ledger: Ledger,
    run: int,
    progress: Progress,
    *,
    batch: Sequence[ToolRecord],
    into: Enrichment,
) -> None:
    """Expansions of a batch of a catalog's records, where any generator has one.

    A tool that one generator fails on, or has nothing to say about, goes to the next. Answers are committed as they
    come, and added to `into`: a batch that stopped half-way can be given again, and only what is missing is asked.
    Raises RunAborted where a generator cannot be used at all; what it answered before is kept.
    """
    ids = {record.tool_id for record in batch}
    into.failures[:] = [failure for failure in into.failures if failure.tool_id not in ids]
    for generator in generators:
        pending: list[ToolRecord] = []
        keys: dict[str, str] = {}
        for record in batch:
            extra = None if record.tool_id in into.written else generator.key(record)
            if extra is not None:
                pending.append(record)
                keys[record.tool_id] = _key(catalog.hashes[record.tool_id], generator, extra)
        known = ledger.expansions(keys.values())
        for record in pending:
            if answer := known.get(keys[record.tool_id]):
                _accept(into, record.tool_id, Expansion.from_json(answer), generator, keys)
                into.reused += 1
                progress.advance()
        unknown = [record for record in pending if keys[record.tool_id] not in known]
        _ask(generator, unknown, keys, catalog.hashes, into, ledger, run, progress)


def _ask(
    generator: Generator,
    records: Sequence[ToolRecord],
    keys: Mapping[str, str],
    hashes: Mapping[str, str],
    result: Enrichment,
    ledger: Ledger,
    run: int,
    progress: Progress,
) -> None:
    waiting: list[Entry] = []
    try:
        for outcome in generator.generate(records) if records else ():
            result.asked[generator.name] += 1
            result.usage = result.usage + outcome.usage
            waiting.append(_entry(outcome, generator, keys, hashes))
            if len(waiting) >= generator.commit_every:
                batch, waiting = waiting, []
                ledger.put_entries(run, batch)
            if isinstance(outcome, Answer):
                _accept(result, outcome.tool_id, outcome.expansion, generator, keys)
                progress.advance()
            else:
                result.failures.append(outcome)
    finally:
        ledger.put_entries(run, waiting)


def _accept(
    result: Enrichment, tool_id: str, expansion: Expansion, generator: Generator, keys: Mapping[str, str]
) -> None:
    result.written[tool_id] = Written(expansion, generator.name, generator.model, keys[tool_id])


def _key(record_hash: str, generator: Generator, extra: Mapping[str, Any]) -> str:
    return fingerprint([record_hash, PROMPT_VERSION, generator.name, generator.model, extra])


def _entry(
    outcome: Answer | Failure, generator: Generator, keys: Mapping[str, str], hashes: Mapping[str, str]
) -> Entry:
    failure = outcome if isinstance(outcome, Failure) else None
    return Entry(
        expansion_key=keys[outcome.tool_id],
        record_hash=hashes[outcome.tool_id],
        tool_id=outcome.tool_id,
        generator=generator.name,
        model=generator.model,
        prompt_version=PROMPT_VERSION,
        prompt_tokens=outcome.usage.prompt_tokens,
        cached_tokens=outcome.usage.cached_tokens,
        completion_tokens=outcome.usage.completion_tokens,
        cost_usd=outcome.usage.cost_usd,
        expansion=None if isinstance(outcome, Failure) else outcome.expansion.to_json(),
        kind=failure.kind if failure else "",
        message=failure.message if failure else "",
    )
