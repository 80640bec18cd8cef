"""What must hold after a bad evening of the model: nothing of it serves, and a good night makes up for it.

The twin is the same evening and the night after it, from the same state and by the same seeds, with a good model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulations.month.oracle import Serving


@dataclass(frozen=True)
class Pair:
    """An evening and the night after it: what served after each, and how many questions each asked."""

    served: Sequence[Serving | None]
    asked: Sequence[int]


def of_the_evening(before: Serving | None, after: Serving | None, twin: Pair) -> Iterator[str]:
    """Yield a sentence for phrases that serve after a bad evening, and neither served before nor would without it."""
    good = twin.served[0]
    if after is None or good is None:
        return
    earlier = before.phrases if before else {}
    wrong = [
        tool_id
        for tool_id, phrases in after.phrases.items()
        if after.writers[tool_id] == "openai" and phrases not in (earlier.get(tool_id), good.phrases.get(tool_id))
    ]
    if wrong:
        yield f"{len(wrong)} tools serve phrases of a bad evening, such as {wrong[0]}: {after.phrases[wrong[0]][:1]}"


def of_the_night_after(pair: Pair, twin: Pair) -> Iterator[str]:
    """Yield a sentence for what a good night did not make up for, and for what it paid beyond the bad evening."""
    serving, good = pair.served[1], twin.served[1]
    if serving is None or good is None:
        if serving is not good:
            yield "after a bad evening and a good night nothing serves"
        return
    for what in ("descriptions", "writers", "phrases"):
        ours, theirs = getattr(serving, what), getattr(good, what)
        if differing := [tool_id for tool_id in sorted({*ours, *theirs}) if ours.get(tool_id) != theirs.get(tool_id)]:
            first = differing[0]
            yield (
                f"a good night after a bad evening left {len(differing)} {what} other than without it, such as "
                f"{first}: {ours.get(first)} and not {theirs.get(first)}"
            )
    if (more := sum(pair.asked) - sum(twin.asked)) > pair.asked[0]:
        yield f"a bad evening that asked {pair.asked[0]} questions cost {more} more"
