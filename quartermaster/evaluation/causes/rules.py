"""The rules by which a missed step gets its cause: each returns the evidence, or None where it does not hold."""

from collections.abc import Callable, Mapping

from quartermaster.evaluation.causes.cause import Cause
from quartermaster.evaluation.causes.cut_text import cut_terms
from quartermaster.evaluation.causes.implicit_needs import is_implied
from quartermaster.evaluation.causes.missed_step import MissedStep
from quartermaster.evaluation.causes.prerequisites import resolved_parameter
from quartermaster.evaluation.measurement import FUSED
from quartermaster.evaluation.metrics import K
from router.contract import Signal

NEAR = 30  # ranks: further down, what stands above a tool says little
_FEW_TERMS = 0.1  # of a request's terms: hardly any; one term is always hardly any
_MAX_NAMED = 3  # terms in the evidence


def decide(missed: MissedStep) -> tuple[Cause, str]:
    """Return the cause of a missed step, the first whose rule holds, and the evidence in a few words."""
    for cause, rule in _RULES.items():
        if evidence := rule(missed):
            return cause, evidence
    return Cause.RANK, _nearest(missed)


def _absent(missed: MissedStep) -> str | None:
    return None if missed.tool_id else "not in this snapshot"


def _abstention(missed: MissedStep) -> str | None:
    if not missed.result.none_fits:
        return None
    fits = missed.result.fits
    return f"the router says that no tool fits{'' if fits is None else f' (fits {fits:.2f})'}"


def _duplicate(missed: MissedStep) -> str | None:
    for tool_id in missed.answer:
        if missed.text_of(tool_id).is_near_duplicate(missed.tool):
            return f"{tool_id} has nearly the same name and description"
    return None


def _prerequisite(missed: MissedStep) -> str | None:
    if missed.tool.name_terms <= missed.request_terms:
        return None
    for tool_id in missed.other_tools:
        parameter = resolved_parameter(missed.text_of(tool_id), missed.tool)
        if parameter := parameter or missed.texts.parameter_resolved_by(missed.tool.record.tool_id, tool_id):
            return f"{tool_id} needs it for {parameter}"
    return None


def _implicit(missed: MissedStep) -> str | None:
    return (
        "no word in common with a request that takes other tools too"
        if _dense_far(missed) and is_implied(missed)
        else None
    )


def _sibling(missed: MissedStep) -> str | None:
    rank = missed.ranks.get(FUSED)
    if rank is None or rank > NEAR:
        return None
    provider = missed.tool.record.provider if missed.texts.has_providers else None
    for tool_id in missed.wrong:
        other = missed.text_of(tool_id)
        if other.has_same_object(missed.tool):
            return f"{tool_id} acts on the same object"
        if provider is not None and other.record.provider == provider:
            return f"{tool_id} is of the same provider"
    return None


def _cut_text(missed: MissedStep) -> str | None:
    cut = cut_terms(missed)
    return f"cut off from the {cut[0]}: {_named(cut[1])}" if cut else None


def _vocabulary(missed: MissedStep) -> str | None:
    few = max(1, _FEW_TERMS * len(missed.request_terms))
    if len(missed.shared_terms) > few or (missed.best_rank is not None and missed.best_rank <= NEAR):
        return None
    return f"in common: {_named(missed.shared_terms)}" if missed.shared_terms else "no word in common"


def _fusion(missed: MissedStep) -> str | None:
    return _nearest(missed) if missed.best_rank is not None and missed.best_rank <= K else None


_RULES: Mapping[Cause, Callable[[MissedStep], str | None]] = {
    Cause.ABSENT: _absent,
    Cause.ABSTENTION: _abstention,
    Cause.DUPLICATE: _duplicate,
    Cause.PREREQUISITE: _prerequisite,
    Cause.IMPLICIT: _implicit,
    Cause.SIBLING: _sibling,
    Cause.CUT_TEXT: _cut_text,
    Cause.VOCABULARY: _vocabulary,
    Cause.FUSION: _fusion,
}


def _dense_far(missed: MissedStep) -> bool:
    rank = missed.ranks.get(Signal.DENSE)
    return rank is None or rank > NEAR


def _nearest(missed: MissedStep) -> str:
    return f"{missed.nearest} ranks it {missed.best_rank}" if missed.best_rank else "in no list"


def _named(terms: frozenset[str]) -> str:
    names = sorted(terms)
    return ", ".join(names[:_MAX_NAMED]) + (", …" if len(names) > _MAX_NAMED else "")
