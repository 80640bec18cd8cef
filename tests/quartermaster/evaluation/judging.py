"""Judgements whose tools are letters, and those of the office catalog."""

from quartermaster.evaluation import Judgement
from tests.support.factories import TOOLS, expansion_row


def judged(
    required: str, acceptable: str = "", kind: str = "single", groups: tuple[str, ...] = (), **fields: str
) -> Judgement:
    """A request that takes these tools, of one letter each."""
    tools = frozenset(required), frozenset(acceptable or required)
    fields = {"id": "q", "request": "request", **fields}
    return Judgement(fields["id"], fields["request"], *tools, kind, tuple(map(frozenset, groups)))


def taking(id: str, request: str, *tools: str, slice: str = "") -> Judgement:
    """A request that takes all of these tools; of none, it is one that no tool answers."""
    held = frozenset(tools)
    kind = "none" if not tools else "multi" if len(tools) > 1 else "single"
    return Judgement(id, request, held, held, kind, slice=slice)


def of_the_phrases() -> list[Judgement]:
    """Each of the catalog's phrases, as a request for its tool; its slice is the provider."""
    return [
        taking(f"{tool['id']} {i}", phrase, tool["id"], slice=tool["provider"])
        for tool in TOOLS
        for i, phrase in enumerate(expansion_row(tool)["user_phrases"])
    ]
