"""Expansions → documents, and what can be reused of what was learned from the documents that serve."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline import learning, publish
from pipeline.build.enriching import enrich
from pipeline.build_state import BuildContext, BuildState
from pipeline.enrichment import Enrichment
from pipeline.execution import parts
from pipeline.memo import digest
from pipeline.phrase_checks.subject import reduced
from router.expansion import Expansion
from router.record import ToolRecord
from router.tools.field_text import FieldDocuments, project_record

_TOOLS_A_PART = 4_096  # projected at once


def expand(context: BuildContext, state: BuildState) -> None:
    """Have expansions written and checked, project documents, and see what can be reused of what was learned."""
    enrich(context, state)
    context.clock.start("project", None)
    languages = context.settings.enrichment.languages

    def project(places: Sequence[int]) -> list[FieldDocuments]:
        batches = _parts_to_project([state.catalog.records[place] for place in places], state.enrichment)
        projected = context.execution.map("project", project_documents, batches, languages)
        in_order = sorted(projected, key=lambda ended: ended[0].first)
        return [document for _, documents in in_order for document in documents]

    keys = [
        digest(key, languages, _written_of(record, state.enrichment))
        for key, record in zip(state.catalog.digests, state.catalog.records, strict=True)
    ]
    state.documents = context.memo.results("project", keys, FieldDocuments, project)
    reuse(context, state)


def _written_of(record: ToolRecord, enrichment: Enrichment) -> list[Any]:
    """Return what the documents of a record depend on beside the record."""
    steering = sorted(enrichment.steering.get(record.tool_id, ()))
    if (one := enrichment.written.get(record.tool_id)) is None:
        return [steering]
    return [steering, one.expansion.to_json(), one.generated]


@dataclass(frozen=True, slots=True)
class ProjectedPart:
    """Records to project, from the place `first` of the catalog's on, and the expansions of those that have one.

    `by_hand` are the ids of tools that no generator wrote for: they keep the lexicon's words beside a person's.
    """

    first: int
    records: Sequence[ToolRecord]
    expansions: Mapping[str, Expansion]
    by_hand: frozenset[str]


def project_documents(part: ProjectedPart, languages: Sequence[str]) -> list[FieldDocuments]:
    """Return the field documents of a part's records, in their order. It may run on a worker."""
    return [
        project_record(r, part.expansions.get(r.tool_id), languages, lexicon=r.tool_id in part.by_hand)
        for r in part.records
    ]


def _parts_to_project(records: Sequence[ToolRecord], enrichment: Enrichment) -> Iterator[tuple[str, ProjectedPart]]:
    """Yield the records of each part with what was written for them, without the remarks that steered."""
    for number, (label, part) in enumerate(parts(records, _TOOLS_A_PART)):
        written = ((record.tool_id, enrichment.written.get(record.tool_id)) for record in part)
        expansions = {tool_id: one.expansion for tool_id, one in written if one is not None}
        kept = [reduced(r, enrichment.steering[r.tool_id]) if r.tool_id in enrichment.steering else r for r in part]
        by_hand = frozenset(tool_id for tool_id in expansions if not enrichment.written[tool_id].generated)
        yield label, ProjectedPart(number * _TOOLS_A_PART, kept, expansions, by_hand)


def reuse(context: BuildContext, state: BuildState) -> None:
    """See which adapter and calibration of the snapshot that serves can be reused.

    The calibration is, where the adapter is and no request is learned from.
    """
    settings, serving, tuning = context.settings, context.serving, context.settings.tuning
    state.phrase_keys = state.adapter = state.calibration = None
    if state.encoder is None or not tuning.adapter:
        return
    spec = state.encoder.embedding.export.spec
    state.phrase_keys = learning.phrase_keys(state.catalog, state.documents)
    state.adapter = learning.reuse_adapter(
        serving, state.phrase_keys, spec, learning.TUNING_VERSION, tuning.max_stale_share
    )
    fitted_here = tuning.judged or state.past is not None
    if state.adapter is not None and serving is not None and tuning.calibrate and not fitted_here:
        state.calibration = learning.reuse_calibration(
            serving,
            publish.VERSIONS,
            spec,
            tuple(settings.enrichment.languages),
            settings.retrieval.resolve().to_json(),
            tuning.max_refused_share,
        )
