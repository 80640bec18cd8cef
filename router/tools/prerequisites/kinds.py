"""The kinds of values that tools need and people do not say."""

from enum import StrEnum


class NeedKind(StrEnum):
    """What kind of value a tool needs."""

    IDENTIFIER = "identifier"
    COORDINATES = "coordinates"
    SESSION = "session"
