"""Decide from the schemas whether one tool needs what another gives: an identifier, a token, a code."""

import re
from collections.abc import Iterable
from itertools import pairwise

from quartermaster.evaluation.causes.tool_texts import ToolText
from router.record import Parameter
from router.text import identifier_words
from router.tools.prerequisites.nouns import IDENTIFYING
from router.tools.text_overlap import term_set

_SEPARATOR = re.compile(r"[.\[\]]+")


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
