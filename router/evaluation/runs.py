"""Judgements and rankings as TREC files, which every retrieval evaluation tool reads: qrels, and a run a list.

A line of qrels is `request 0 tool relevance`, of a run `request Q0 tool rank score list`, separated by spaces. Spaces
and percent signs inside an id are percent-encoded.
"""

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

import numpy as np

from router.evaluation.judgements import Judgement


def qrels(judgements: Iterable[Judgement]) -> str:
    """The relevant tools of each request, 1 each, as `ndcg@10` counts them. Requests that no tool answers have no line,
    so that other tools leave them out too."""
    return "".join(
        f"{_id(judgement.id)} 0 {_id(tool_id)} 1\n"
        for judgement in judgements
        if judgement.kind != "none"
        for tool_id in sorted(judgement.relevant)
    )


def run(name: str, answers: Iterable[tuple[Judgement, Sequence[str], Sequence[float]]]) -> str:
    """A list's tools and scores for each request, best first.

    Tools order a run by score alone, as 32-bit floats, and break ties their own way: an equal score is lowered by the
    least step, so that the order stays ours.
    """
    lines = []
    for judgement, ids, scores in answers:
        if judgement.kind == "none":
            continue
        last = np.float32(np.inf)
        for rank, (tool_id, score) in enumerate(zip(ids, scores, strict=True), 1):
            last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
            lines.append(f"{_id(judgement.id)} Q0 {_id(tool_id)} {rank} {float(last):.9g} {name}\n")
    return "".join(lines)


def _id(text: str) -> str:
    return re.sub(r"[\s%\x00-\x1f]", lambda found: quote(found[0], safe=""), text) or "%"
