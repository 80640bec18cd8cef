"""The prerequisite graph: which tool must run first, since it finds what another needs and nobody says.

`nouns` are the words of identifiers, `needs` reads what a tool needs, `candidates` what it finds; `resolving` compares
two tools, and `matching` those of a whole catalog.
"""

from enum import StrEnum


class NeedKind(StrEnum):
    """What kind of value a tool needs."""

    IDENTIFIER = "identifier"
    COORDINATES = "coordinates"
    SESSION = "session"
