"""The causes of missed steps, and the rules that give a step its cause: the first that holds, with its evidence."""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import pairwise

from quartermaster.evaluation.causes.missed_step import MissedStep, ToolText
from quartermaster.evaluation.measurement import FUSED
from quartermaster.evaluation.metrics import K
from router.contract import Signal
from router.query.steps import find_steps
from router.record import Parameter
from router.retrieval.retrievers import MAX_QUERY_TERMS
from router.search.search import MAX_REQUEST
from router.text import identifier_words
from router.tools.field_text import dense_document
from router.tools.prerequisites.nouns import IDENTIFYING
from router.tools.text_overlap import term_set

_NEAR = 30  # ranks: further down, what stands above a tool says little
_FEW_TERMS = 0.1  # of a request's terms: hardly any; one term is always hardly any
_MAX_NAMED = 3  # terms in the evidence
_SEPARATOR = re.compile(r"[.\[\]]+")


class Cause(StrEnum):
    """Why the first K tools leave a step unmet, in the order in which the rules are tried.

    Attributes:
        meaning: What happened, in a few words.
        remedy: What the owner of a catalog can do, in one sentence.
    """

    ABSENT = (
        "absent",
        "no tool of the step is in the snapshot",
        "Add the source of the tool to the catalog, or correct the judgement.",
    )
    ABSTENTION = (
        "abstention",
        "the router said that no tool fits",
        "Lower tuning.max_refused_share, or write phrases that sound like the request.",
    )
    DUPLICATE = (
        "duplicate",
        "the answer has a tool with nearly the same name and description",
        "If both tools do the same, put both into one group of the judgement; else make their descriptions differ.",
    )
    PREREQUISITE = (
        "prerequisite",
        "the request does not name the tool, and another required tool needs what it gives",
        "Mark the parameters that need it as required, and say in their descriptions which tool gives the value.",
    )
    IMPLICIT = (
        "implicit",
        "the request only implies the step",
        "Write phrases for the tool that say what such requests imply, or hand it over always (selection.always).",
    )
    SIBLING = (
        "sibling",
        "a similar tool stands above it, and it is among the first 30",
        "Enrich with a model that is shown the siblings (enrichment.contrast), or say in the description what only "
        "this tool does.",
    )
    CUT_TEXT = (
        "cut_text",
        "the matching words lie where the request or the tool's text is cut",
        "Say first what the tool does, and keep pasted text out of the request.",
    )
    VOCABULARY = (
        "vocabulary",
        "the request and the tool have hardly a word in common, and no list has it among its first 30",
        "Enrich with a model, which writes phrases in the words of users, or write such phrases.",
    )
    FUSION = (
        "fusion",
        "a list had it among its first ten, and fusion lost it",
        "Compare recipes (quartermaster compare), and give that list more weight.",
    )
    RANK = (
        "rank",
        "other tools fit the request better by every list",
        "Write phrases that say what only this tool does, or ask for more tools (k).",
    )

    meaning: str
    remedy: str

    def __new__(cls, value: str, meaning: str, remedy: str) -> "Cause":
        """Return a member with its texts."""
        member = str.__new__(cls, value)
        member._value_, member.meaning, member.remedy = value, meaning, remedy
        return member

    @property
    def label(self) -> str:
        """The name that people read."""
        return self.value.replace("_", " ")


def decide(missed: MissedStep) -> tuple[Cause, str]:
    """Return the cause of a missed step, the first whose rule holds, and the evidence in a few words."""
    for cause, rule in _RULES.items():
        if evidence := rule(missed):
            return cause, evidence
    return Cause.RANK, _nearest(missed)


def _abstention(missed: MissedStep) -> str | None:
    if not missed.result.none_fits:
        return None
    fits = missed.result.fits
    return f"the router says that no tool fits{'' if fits is None else f' (fits {fits:.2f})'}"


def _duplicate(missed: MissedStep) -> str | None:
    for tool_id in missed.answer:
        if missed.texts[tool_id].is_near_duplicate(missed.tool):
            return f"{tool_id} has nearly the same name and description"
    return None


def _prerequisite(missed: MissedStep) -> str | None:
    if missed.tool.name_terms <= missed.request_terms:
        return None
    for tool_id in missed.other_tools:
        needs = missed.texts.router.prerequisites(tool_id)
        known = (n.parameter for n in needs if any(by.tool_id == missed.tool_id for by in n.resolvers))
        if parameter := resolved_parameter(missed.texts[tool_id], missed.tool) or next(known, None):
            return f"{tool_id} needs it for {parameter}"
    return None


def _implicit(missed: MissedStep) -> str | None:
    dense_rank = missed.ranks.get(Signal.DENSE)
    if (dense_rank and dense_rank <= _NEAR) or missed.shared_terms or len(missed.judgement.steps) == 1:
        return None
    return "no word in common with a request that takes other tools too"


def _sibling(missed: MissedStep) -> str | None:
    rank = missed.ranks.get(FUSED)
    if rank is None or rank > _NEAR:
        return None
    provider = missed.tool.record.provider if len(missed.texts.router.providers) > 1 else None
    for tool_id in missed.wrong:
        other = missed.texts[tool_id]
        if other.has_same_object(missed.tool):
            return f"{tool_id} acts on the same object"
        if provider is not None and other.record.provider == provider:
            return f"{tool_id} is of the same provider"
    return None


def _cut_text(missed: MissedStep) -> str | None:
    """Hold where more than half of the terms that request and tool share are only in what was cut."""
    unread = {"request": missed.request_terms - _read_of_request(missed), "text of the tool": _unread_of_tool(missed)}
    for name, terms in unread.items():
        matching = missed.shared_terms & terms
        if 2 * len(matching) > len(missed.shared_terms):
            return f"cut off from the {name}: {_named(matching)}"
    return None


def _vocabulary(missed: MissedStep) -> str | None:
    few = max(1, _FEW_TERMS * len(missed.request_terms))
    if len(missed.shared_terms) > few or missed.is_within(_NEAR):
        return None
    return f"in common: {_named(missed.shared_terms)}" if missed.shared_terms else "no word in common"


_RULES: Mapping[Cause, Callable[[MissedStep], str | None]] = {
    Cause.ABSENT: lambda missed: None if missed.tool_id else "not in this snapshot",
    Cause.ABSTENTION: _abstention,
    Cause.DUPLICATE: _duplicate,
    Cause.PREREQUISITE: _prerequisite,
    Cause.IMPLICIT: _implicit,
    Cause.SIBLING: _sibling,
    Cause.CUT_TEXT: _cut_text,
    Cause.VOCABULARY: _vocabulary,
    Cause.FUSION: lambda missed: _nearest(missed) if missed.is_within(K) else None,
}


def _nearest(missed: MissedStep) -> str:
    return f"{missed.nearest} ranks it {missed.best_rank}" if missed.best_rank else "in no list"


def _named(terms: frozenset[str]) -> str:
    names = sorted(terms)
    return ", ".join(names[:_MAX_NAMED]) + (", …" if len(names) > _MAX_NAMED else "")


def _read_of_request(missed: MissedStep) -> frozenset[str]:
    """Return the terms of a request that were read: by the encoder and in its steps, or else by the lexical lists."""
    request = missed.judgement.request[:MAX_REQUEST]
    read = term_set(_first_words(request, missed.read_words or MAX_QUERY_TERMS))
    steps = find_steps(request) if missed.recipe.steps else None
    return read & term_set(" ".join(steps.texts)) if steps and steps.share < 1 else read


def _unread_of_tool(missed: MissedStep) -> frozenset[str]:
    """Return the terms of a tool's description that its vectors lack."""
    if missed.read_words is None:
        return frozenset()
    read = (_first_words(dense_document(missed.tool.record), missed.read_words), *missed.tool.phrases)
    return missed.tool.description_terms - term_set(" ".join(read))


def _first_words(text: str, count: int) -> str:
    return " ".join(text.split(maxsplit=count)[:count])


def resolved_parameter(needing: ToolText, given: ToolText) -> str | None:
    """Return the required parameter of `needing` that `given` resolves; None where there is none.

    The parameter is an identifier, and its noun is in the name of `given` (`customer_id`, `search_customers`), or its
    description names `given` ("from the Search Airport API"). A tool of another provider resolves nothing, and neither
    does one that requires the same parameter.
    """
    if needing.record.provider != given.record.provider:
        return None
    own = {parameter.path for parameter in _identifiers(given)}
    for parameter in _identifiers(needing):
        if parameter.path not in own and (_names_its_object(needing, parameter, given) or _mentions(parameter, given)):
            return parameter.path
    return None


def _identifiers(tool: ToolText) -> Iterable[Parameter]:
    """Yield the identifiers that a call must have; all of them where the schema marks no parameter as required."""
    parameters = tool.record.parameters
    marked = any(parameter.required for parameter in parameters)
    for parameter in parameters:
        words = identifier_words(parameter.path)
        if words and words[-1] in IDENTIFYING and (parameter.required or not marked):
            yield parameter


def _names_its_object(needing: ToolText, parameter: Parameter, given: ToolText) -> bool:
    """Return whether the tool's name holds every word of the parameter but the identifier ("customer" of customer_id).

    A bare `id` is that of the object of the tool that needs it; any other bare word is its own noun (`token`).
    """
    *nouns, last = identifier_words(_SEPARATOR.split(parameter.path.removesuffix("[]"))[-1])
    if nouns:
        wanted = term_set(" ".join(nouns))
    else:
        wanted = needing.object_terms if last in ("id", "ids") else term_set(last)
    return bool(wanted) and wanted <= given.name_terms


def _mentions(parameter: Parameter, given: ToolText) -> bool:
    """Return whether a parameter's description has the tool's name, or two words of it in a row."""
    said, name = identifier_words(parameter.description), identifier_words(given.record.name)
    return len(name) > 1 and not set(pairwise(name)).isdisjoint(pairwise(said))
