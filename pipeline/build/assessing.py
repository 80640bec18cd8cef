"""Assess what was written for the tools of a build, and leave out what does not hold."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from pipeline.build_state import BuildContext, BuildState
from pipeline.enrichment import Enrichment
from pipeline.enrichment.context import Consequence, TextVerdict
from pipeline.learning.no_answer_calibration.background import background
from pipeline.phrase_checks.assessment import ASSESSMENT_VERSION
from pipeline.phrase_checks.assessment import assess as assess_catalog
from pipeline.phrase_checks.checks import SCREEN_VERSION
from pipeline.phrase_checks.comparison import ComparisonCache
from pipeline.phrase_checks.foreign import find_foreign
from pipeline.phrase_checks.screen import LISTS
from pipeline.phrase_checks.steering import find_steering
from pipeline.phrase_checks.subject import Findings, WrittenTool, schema_texts
from pipeline.phrase_checks.vectors import AssessedTool
from pipeline.vectors import Embedding
from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.tools.text_overlap import record_texts

CHECKS_VERSION = f"{SCREEN_VERSION}.{ASSESSMENT_VERSION}"  # what it refused is judged anew with any change


def assess(context: BuildContext, state: BuildState) -> Findings:
    """Assess a build's expansions: against the whole catalog, and each against its own record.

    The ledger has the result where the same texts were assessed before. Needs an encoder.
    """
    assert state.encoder is not None
    embedding, answers = state.encoder.embedding, context.ledger.answers
    records, settings = state.catalog.records, context.settings.assessment
    expansions = {tool_id: one.expansion for tool_id, one in state.enrichment.written.items()}
    key = fingerprint(
        [
            ASSESSMENT_VERSION,
            settings.model_dump(),
            embedding.export.key,
            [[r.tool_id, r.origin.file, [*record_texts(r)], [*schema_texts(r.input_schema)]] for r in records],
            {tool_id: expansion.to_json() for tool_id, expansion in expansions.items()},
        ]
    )
    if (known := answers.assessment(key)) is not None:
        return msgspec.convert(known, Findings)
    of_catalog = _against_catalog(context, [AssessedTool.of(r, expansions.get(r.tool_id)) for r in records], embedding)
    tools = [WrittenTool.of(r, expansions.get(r.tool_id)) for r in records]
    errands = [query.request for query in background() if query.is_errand]
    texts = [*(tool.subject for tool in tools), *(text for tool in tools for text in tool.judged)]

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        embedding.embed(texts)
        return embedding.matrix(texts)

    vectors = embed(texts)
    of_records = find_steering(tools, vectors, embed, settings, errands)
    foreign = Findings() if of_records.blind else find_foreign(tools, vectors, embed, settings, errands)
    found = Findings(
        (*of_catalog.verdicts, *of_records.verdicts, *foreign.verdicts),
        of_catalog.siblings,
        {**foreign.steering, **of_records.steering},
        of_records.blind,
    )
    answers.put_assessment(context.run, key, msgspec.to_builtins(found))
    return found


def _against_catalog(context: BuildContext, tools: Sequence[AssessedTool], embedding: Embedding) -> Findings:
    """Judge the phrases of tools beside the whole catalog; what was compared is kept in a file for the next build."""
    texts, interfaces = [tool.text for tool in tools], [tool.interface for tool in tools]
    phrases = [phrase for tool in tools for phrase in tool.phrases]
    embedding.embed([*texts, *interfaces, *phrases])
    context.clock.start("assess", None)
    file = context.workspace / "compared" / f"{context.settings.name}.npz"
    kept_for = f"{ASSESSMENT_VERSION} {embedding.export.key}"
    cache = ComparisonCache.open(file, kept_for)
    matrices = embedding.matrix(texts), embedding.matrix(interfaces), embedding.matrix(phrases)
    settings = context.settings.assessment
    assessment = context.execution.run("assess", lambda: assess_catalog(tools, *matrices, settings, cache=cache))
    cache.save(file, kept_for)
    return assessment


def only_noted_again(first: Findings, second: Findings, answered: Collection[str]) -> Findings:
    """Return the second findings. A record misleads where tools `answered` twice, of the same other tool."""
    wrong = {(v.tool_id, v.check, v.detail) for v in first.verdicts if v.check == "misplaced" and v.tool_id in answered}
    again = {v for v in second.verdicts if (v.tool_id, v.check, v.detail) in wrong}
    verdicts = (replace(v, consequence=Consequence.NOTED) if v in again else v for v in second.verdicts)
    return replace(second, verdicts=tuple(verdicts))


def leave_out(written: Enrichment, found: Findings) -> None:
    """Remove dropped texts from the expansions, keep the verdicts beside them, and note which records steered."""
    by_tool: dict[str, list[TextVerdict]] = {}
    for verdict in found.verdicts:
        by_tool.setdefault(verdict.tool_id, []).append(verdict)
    for tool_id, of_tool in by_tool.items():
        if (by := written.written.get(tool_id)) is not None:  # else its answer was refused whole
            expansion = _without_dropped(by.expansion, of_tool)
            written.written[tool_id] = replace(by, expansion=expansion, verdicts=(*by.verdicts, *of_tool))
    written.steering = {tool_id: frozenset(part.text for part in parts) for tool_id, parts in found.steering.items()}
    written.suspicious = tuple(
        TextVerdict(tool_id, part.field, part.text, "foreign", Consequence.DROPPED)
        for tool_id, parts in sorted(found.steering.items())
        for part in parts
    )


def _without_dropped(expansion: Expansion, verdicts: Sequence[TextVerdict]) -> Expansion:
    dropped = {(verdict.field, verdict.text) for verdict in verdicts if verdict.dropped}

    def kept(name: str, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if (name, text) not in dropped)

    translations = {code: kept(f"translations.{code}", texts) for code, texts in expansion.translations.items()}
    return replace(
        expansion,
        when_to_use="".join(kept("when_to_use", [expansion.when_to_use])),
        translations={code: texts for code, texts in translations.items() if texts},
        **{name: kept(name, getattr(expansion, name)) for name in LISTS},
    )
