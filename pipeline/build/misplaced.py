"""Refuse answers that fit other tools: a model that swaps its answers must not replace good phrases."""

from collections.abc import Iterable

from pipeline.build_state import BuildState
from pipeline.enrichment import Enrichment, EnrichmentContext
from pipeline.enrichment.enrich import serve_earlier
from pipeline.enrichment.generator import GenerationFailure
from pipeline.phrase_checks.subject import Findings

_FEWEST = 20  # earlier answers that tell whether the model or the encoder is at fault


def take_back_misplaced(asking: EnrichmentContext, state: BuildState, found: Findings) -> bool:
    """Refuse misplaced answers of this build where the tool has an earlier one; return whether there are any.

    Where earlier answers are less than half as often misplaced, the model is at fault, not the encoder: then all go.
    """
    written = state.enrichment
    misplaced = {one.tool_id: one for one in found.verdicts if one.check == "misplaced"}
    new = {tool_id for tool_id, one in written.written.items() if one.key in written.new_keys}
    wrong, earlier = misplaced.keys() & new, len(written.written) - len(new)
    of_earlier = len(misplaced) - len(wrong)
    model_at_fault = earlier >= _FEWEST and 2 * of_earlier * len(new) < len(wrong) * earlier
    answers = asking.ledger.answers.earlier_answers(asking.catalog_name, sorted(wrong), asking.checks)
    before = {answer.tool_id for answer in answers if answer.run < asking.run}
    taken = {t for t in wrong if model_at_fault or (misplaced[t].dropped and t in before)}
    refuse_misplaced(asking, written, found, taken)
    records = [record for record in state.catalog.records if record.tool_id in taken]
    for generator in state.chain if taken else ():
        if generator.accepts_siblings:
            serve_earlier(asking, generator, records, written, contrasting=False)
    return bool(taken)


def refuse_misplaced(asking: EnrichmentContext, written: Enrichment, found: Findings, tool_ids: Iterable[str]) -> None:
    """Refuse the answers of tools whole: the synonyms of another tool's answer are not the tool's either."""
    marked: dict[str, str] = {}
    for tool_id in sorted(tool_ids):
        by, of_tool = written.written.pop(tool_id), [one for one in found.verdicts if one.tool_id == tool_id]
        other = next(one.detail for one in of_tool if one.check == "misplaced")
        written.refused[tool_id] = (*by.verdicts, *of_tool)
        written.failures.append(GenerationFailure(tool_id, "rejected", f"the answer speaks of {other}"))
        if by.key in written.new_keys:
            marked[by.key] = written.rejected[tool_id] = "misplaced"
    asking.ledger.refusals.mark(asking.run, marked, asking.checks)
