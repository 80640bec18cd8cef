"""The stage that writes a snapshot, which does not serve yet: texts are embedded, the adapter and the needs learned."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pipeline import learning, vectors
from pipeline.build.identifying import regression
from pipeline.build.report import put_counts
from pipeline.build_state import BuildContext, BuildState
from pipeline.memo import digest
from pipeline.publish import write_snapshot
from pipeline.store import disk_size
from router.record import ToolRecord
from router.tools.prerequisites.matching import Prerequisite, find_prerequisites

Compute = Callable[[Sequence[int]], Sequence[Any]]


def write(context: BuildContext, state: BuildState) -> None:
    """Write the snapshot, and measure it on the catalog's judged requests."""
    if (encoder := state.encoder) is not None:
        state.vectors = vectors.collect_vectors(state.documents, encoder.embedding)
        _learn_adapter(context, state)
    if context.settings.retrieval.resolve().prerequisites:
        context.clock.start("prerequisites", None)
        state.prerequisites = _find_prerequisites(context, state)
    put_counts(context, state)  # once more: the texts that were embedded since
    state.snapshot, checked = write_snapshot(context, state, partial(regression, context))
    state.held = (*state.held, *checked.held)
    state.outcome = "held" if state.held else "published"
    state.written_bytes = disk_size(state.snapshot).own


def _find_prerequisites(context: BuildContext, state: BuildState) -> Sequence[Prerequisite]:
    """Return the edges of the catalog; of a tool and of a provider that are as before, nothing is found again."""
    written, records = state.enrichment.written.items(), state.catalog.records
    stated = {tool_id: w.expansion for tool_id, w in written if w.expansion.requires or w.expansion.provides}
    said = {tool_id: [one.requires, one.provides] for tool_id, one in stated.items()}
    made_of = {r.tool_id: [key, said.get(r.tool_id)] for r, key in zip(records, state.catalog.digests, strict=True)}

    def keep(name: str, kind: Any, groups: Sequence[Sequence[ToolRecord]], compute: Compute) -> Sequence[Any]:
        keys = [digest([made_of[record.tool_id] for record in group]) for group in groups]
        return context.memo.results(name, keys, kind, compute)

    return context.execution.run("prerequisites", find_prerequisites, records, stated, keep)


def _learn_adapter(context: BuildContext, state: BuildState) -> None:
    """Learn the query adapter from the phrases, unless that of the snapshot that serves is reused."""
    if state.phrase_keys is None:
        state.adapter = learning.LearnedAdapter(evidence={"skipped": "tuning.adapter is false"})
    elif state.adapter is None and state.vectors is not None and state.encoder is not None:
        space = learning.phrase_space(state.catalog, state.vectors, state.encoder.embedding)
        context.clock.start("tune", None)
        state.adapter = context.execution.run("tune", learning.tune, space, state.phrase_keys)
