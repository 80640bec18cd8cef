"""What the model says that a tool requires and provides, as things: evidence where schemas and names have none."""

import re
from collections.abc import Iterator, Sequence

from router.record import ToolRecord
from router.text import identifier_words
from router.tools.lexicon.grammar import singular
from router.tools.prerequisites.kinds import NeedKind
from router.tools.prerequisites.needs import Need, required_parameters
from router.tools.prerequisites.nouns import ID_WORDS, nouns_of

_POSSESSIVE = re.compile(r"['’]s?\b")
_ARTICLES = frozenset("a all an any each every its of one or some that the their this whose your".split())
# What identifies a thing, beside an id: "an airport code", "the message's timestamp".
_IDENTIFYING = ID_WORDS | frozenset("code codes handle handles key keys number numbers timestamp token tokens".split())
# What follows says how it is found: "a customer's id by name".
_HOW = frozenset("based by for from given in matching named on using via when where which with".split())


def stated_thing(statement: str) -> tuple[str, ...]:
    """Return the words of the thing whose identifier a statement speaks of: "a customer's id by name" → customer.

    Empty for a statement that speaks of no identifier, or of one alone ("an id").
    """
    before: list[str] = []
    for word in identifier_words(_POSSESSIVE.sub(" ", statement)):
        if word in _IDENTIFYING:
            return nouns_of(before)
        if word in _HOW:
            return ()
        if word not in _ARTICLES:
            before.append(word)
    return ()


def stated_needs(record: ToolRecord, known: Sequence[Need], statements: Sequence[str]) -> Iterator[Need]:
    """Yield a need for each statement of what a tool requires that names one of its required parameters.

    `known` are the needs that its schema tells: they are not told again.
    """
    taken = {need.parameter for need in known}
    for statement in statements:
        thing = stated_thing(statement)
        words = {singular(word) for word in identifier_words(statement)}
        for parameter in required_parameters(record) if thing else ():
            names = set(nouns_of(identifier_words(parameter.path.rsplit(".", 1)[-1])))
            if parameter.path not in taken and not parameter.enum and names & words:
                taken.add(parameter.path)
                yield Need(parameter.path, NeedKind.IDENTIFIER, thing, parameter.description)
                break
