"""Judgements whose tools are letters."""

from router.evaluation import Judgement


def judged(
    required: str, acceptable: str = "", kind: str = "single", groups: tuple[str, ...] = (), **fields: str
) -> Judgement:
    """A request that takes these tools, of one letter each."""
    tools = frozenset(required), frozenset(acceptable or required)
    fields = {"id": "q", "request": "request", **fields}
    return Judgement(fields["id"], fields["request"], *tools, kind, tuple(map(frozenset, groups)))
