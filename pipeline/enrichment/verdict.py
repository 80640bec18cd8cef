"""What a check says of a text that a generator wrote."""

from dataclasses import dataclass
from enum import StrEnum


class Consequence(StrEnum):
    """What a verdict does: DROPPED is indexed nowhere; NOTED is indexed all the same, and can be looked up."""

    DROPPED = "dropped"
    NOTED = "noted"


@dataclass(frozen=True, slots=True)
class TextVerdict:
    """One check's word on one text of a tool's expansion. A text that no check speaks of is kept.

    `field` is the expansion's field ("user_phrases", "when_to_use", …), `check` the check's name, `detail` what it
    found: the other tool, the URL, the rank.
    """

    tool_id: str
    field: str
    text: str
    check: str
    consequence: Consequence
    detail: str = ""

    @property
    def dropped(self) -> bool:
        """Whether the text is indexed nowhere."""
        return self.consequence is Consequence.DROPPED
