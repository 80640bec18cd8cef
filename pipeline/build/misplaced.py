"""Take back new answers that fit other tools: a model that swaps its answers must not replace good phrases."""

from pipeline.build.assessing import Assessed
from pipeline.build_state import BuildState
from pipeline.enrichment import EnrichmentContext
from pipeline.enrichment.checking import refusal
from pipeline.enrichment.enrich import serve_earlier

_FEWEST = 20  # earlier answers that tell whether the model or the encoder is at fault


def take_back_misplaced(asking: EnrichmentContext, state: BuildState, found: Assessed) -> bool:
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
    taken = sorted(t for t in wrong if model_at_fault or (misplaced[t].dropped and t in before))
    for tool_id in taken:
        written.refused[tool_id] = tuple(one for one in found.verdicts if one.tool_id == tool_id)
        written.failures.append(refusal(written, tool_id))
        written.rejected[tool_id] = "misplaced"
    keys = {written.written.pop(tool_id).key: "misplaced" for tool_id in taken}
    asking.ledger.refusals.mark(asking.run, keys, asking.checks)
    records = [record for record in state.catalog.records if record.tool_id in set(taken)]
    for generator in state.chain if taken else ():
        if generator.accepts_siblings:
            serve_earlier(asking, generator, records, written, contrasting=False)
    return bool(taken)
