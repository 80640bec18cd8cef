"""The expansions that a snapshot holds: written, screened, assessed against the whole catalog, contrasted."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from pipeline import enrichment
from pipeline.phrase_checks.catalog import ASSESSMENT_VERSION, Assessment, ComparisonCache, AssessedTool, assess
from pipeline.enrichment.verdict import Consequence, Verdict
from pipeline.errors import RunAborted
from pipeline.execution import Execution, parts
from pipeline.settings import CatalogSettings
from pipeline.vectors import Embedding
from router.fingerprint import fingerprint


def expand(
    context: enrichment.EnrichmentContext,
    chain: Sequence[enrichment.Generator],
    settings: CatalogSettings,
    do: Execution,
    embedding: Embedding | None,
    compared: Path,
) -> enrichment.Enrichment:
    """Have the tools' expansions written, and leave out what does not hold against the rest of the catalog.

    Where phrases fit a sibling as well, the tool is asked about once more beside its siblings, if settings say so.
    Without an encoder nothing is assessed. `compared` is the file that keeps what the assessment compared. Raises
    RunAborted as the generators do.
    """
    records = context.catalog.records
    context.progress.start("enrich", len(records))
    written = enrichment.Enrichment()
    # A batch handed in whole is one job at the server; one by one, a part is what a flow may repeat.
    size = None if settings.enrichment.mode == "batch" else do.batch_size
    for label, batch in parts(enrichment.fair(records), size):
        do("enrich", partial(enrichment.enrich, context, chain, batch=batch, into=written), label)
    if embedding is not None and settings.assessment.enabled:
        _judge(context, chain, settings, do, embedding, compared, written, size)
    for generator in chain:
        written.usage = written.usage + generator.unclaimed
    return written


def _judge(
    context: enrichment.EnrichmentContext,
    chain: Sequence[enrichment.Generator],
    settings: CatalogSettings,
    do: Execution,
    embedding: Embedding,
    compared: Path,
    written: enrichment.Enrichment,
    size: int | None,
) -> None:
    """Hold what was written against the whole catalog; ask again where siblings collide; leave out what does not hold.
    `size` is how many tools one stage asks about."""
    found = _assess(context, written, settings, do, embedding, compared)
    # Siblings found while some answers are still to come would be others tomorrow, and paid for again.
    complete = all(failure.asked for failure in written.failures)
    if settings.enrichment.contrast and complete:
        again = {tool_id: near for tool_id, near in found.siblings.items() if _by_model(written, tool_id, chain)}
        if again:
            context.progress.start("contrast", len(again))
            try:
                for label, part in parts(list(again.items()), size):
                    do("contrast", partial(enrichment.contrast, context, chain, dict(part), into=written), label)
            except RunAborted as error:
                # Every tool has its first answer: a build that needed nothing else goes on without the second.
                context.progress.note(f"similar tools were not asked about a second time: {error}")
            found = _assess(context, written, settings, do, embedding, compared)
    written.siblings = found.siblings
    _leave_out(written, found.verdicts)


def _by_model(written: enrichment.Enrichment, tool_id: str, chain: Sequence[enrichment.Generator]) -> bool:
    by = written.written.get(tool_id)
    return by is not None and any(by.generator == generator.name and generator.contrasts for generator in chain)


def _assess(
    context: enrichment.EnrichmentContext,
    written: enrichment.Enrichment,
    settings: CatalogSettings,
    do: Execution,
    embedding: Embedding,
    compared: Path,
) -> Assessment:
    """What the catalog says of each phrase; from the ledger, where the same texts were assessed before."""
    key = fingerprint(
        [
            ASSESSMENT_VERSION,
            settings.assessment.model_dump(),
            embedding.model.key,
            [[r.tool_id, context.catalog.hashes[r.tool_id]] for r in context.catalog.records],
            {tool_id: w.expansion.to_json() for tool_id, w in written.written.items()},
        ]
    )
    if known := context.ledger.assessment(key):
        return Assessment(
            tuple(Verdict(**{**row, "consequence": Consequence(row["consequence"])}) for row in known["verdicts"]),
            {tool_id: tuple(near) for tool_id, near in known["siblings"].items()},
        )
    subjects = [AssessedTool.of(record, _expansion(written, record.tool_id)) for record in context.catalog.records]
    texts = [subject.text for subject in subjects]
    phrases = [phrase for subject in subjects for phrase in subject.phrases]
    embedding.embed([*texts, *phrases])
    context.progress.start("assess", None)
    matrices = embedding.matrix(texts), embedding.matrix(phrases)
    state = f"{ASSESSMENT_VERSION} {embedding.model.key}"
    cache = ComparisonCache.open(compared, state)
    found = do("assess", partial(assess, subjects, *matrices, settings.assessment, cache=cache))
    cache.save(compared, state)
    context.ledger.put_assessment(
        context.run, key, {"verdicts": [asdict(verdict) for verdict in found.verdicts], "siblings": dict(found.siblings)}
    )
    return found


def _expansion(written: enrichment.Enrichment, tool_id: str) -> enrichment.Expansion | None:
    by = written.written.get(tool_id)
    return by.expansion if by else None


def _leave_out(written: enrichment.Enrichment, verdicts: Iterable[Verdict]) -> None:
    by_tool: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_tool.setdefault(verdict.tool_id, []).append(verdict)
    for tool_id, found in by_tool.items():
        by = written.written[tool_id]
        written.written[tool_id] = replace(by, expansion=_without(by.expansion, found), verdicts=(*by.verdicts, *found))


def _without(expansion: enrichment.Expansion, verdicts: Sequence[Verdict]) -> enrichment.Expansion:
    dropped = {(verdict.field, verdict.text) for verdict in verdicts if verdict.dropped}
    return replace(
        expansion,
        when_to_use="" if ("when_to_use", expansion.when_to_use) in dropped else expansion.when_to_use,
        user_phrases=tuple(p for p in expansion.user_phrases if ("user_phrases", p) not in dropped),
    )
