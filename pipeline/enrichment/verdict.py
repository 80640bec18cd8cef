"""The verdict of a check on a text that a generator wrote."""

from dataclasses import dataclass
from enum import StrEnum


class Consequence(StrEnum):
    """The consequence for a text: DROPPED is not indexed; NOTED is indexed, and the note can be looked up."""

    DROPPED = "dropped"
    NOTED = "noted"


@dataclass(frozen=True, slots=True)
class TextVerdict:
    """One check's verdict on one text of a tool's expansion. A text without a verdict is kept.

    `field` is the expansion's field ("user_phrases", "when_to_use", …), `check` the check's name, `detail` its finding:
    the other tool, the URL, the rank.
    """

    tool_id: str
    field: str
    text: str
    check: str
    consequence: Consequence
    detail: str = ""

    @property
    def dropped(self) -> bool:
        """Whether the text is not indexed."""
        return self.consequence is Consequence.DROPPED
