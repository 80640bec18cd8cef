"""The causes of a missed step, in the order in which they are tried, each with its meaning and the way out."""

from enum import StrEnum


class Cause(StrEnum):
    """Why the first K tools leave a step unmet. The first cause whose rule holds is the step's."""

    ABSENT = "absent"
    ABSTENTION = "abstention"
    DUPLICATE = "duplicate"
    PREREQUISITE = "prerequisite"
    IMPLICIT = "implicit"
    SIBLING = "sibling"
    CUT_TEXT = "cut_text"
    VOCABULARY = "vocabulary"
    FUSION = "fusion"
    RANK = "rank"

    @property
    def label(self) -> str:
        """The name that people read."""
        return self.value.replace("_", " ")

    @property
    def meaning(self) -> str:
        """What happened, in a few words."""
        return _TEXTS[self][0]

    @property
    def way_out(self) -> str:
        """What the owner of a catalog can do, in one sentence."""
        return _TEXTS[self][1]


_TEXTS = {
    Cause.ABSENT: (
        "no tool of the step is in the snapshot",
        "Add the source of the tool to the catalog, or correct the judgement.",
    ),
    Cause.ABSTENTION: (
        "the router said that no tool fits",
        "Lower tuning.max_refused_share, or write phrases that sound like the request.",
    ),
    Cause.DUPLICATE: (
        "the answer has a tool with nearly the same name and description",
        "If both tools do the same, put both into one group of the judgement; else make their descriptions differ.",
    ),
    Cause.PREREQUISITE: (
        "the request does not name the tool, and another required tool needs what it gives",
        "Mark the parameters that need it as required, and say in their descriptions which tool gives the value.",
    ),
    Cause.IMPLICIT: (
        "the request only implies the step",
        "Write phrases for the tool that say what such requests imply, or hand it over always (selection.always).",
    ),
    Cause.SIBLING: (
        "a similar tool stands above it, and it is among the first 30",
        "Enrich with a model that is shown the siblings (enrichment.contrast), or say in the description what only "
        "this tool does.",
    ),
    Cause.CUT_TEXT: (
        "the matching words lie where the request or the tool's text is cut",
        "Say first what the tool does, and keep pasted text out of the request.",
    ),
    Cause.VOCABULARY: (
        "the request and the tool have hardly a word in common, and no list has it among its first 30",
        "Enrich with a model, which writes phrases in the words of users, or write such phrases.",
    ),
    Cause.FUSION: (
        "a list had it among its first ten, and fusion lost it",
        "Compare recipes (quartermaster compare), and give that list more weight.",
    ),
    Cause.RANK: (
        "other tools fit the request better by every list",
        "Write phrases that say what only this tool does, or ask for more tools (k).",
    ),
}
