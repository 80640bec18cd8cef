"""What must hold after a bad evening of the model: nothing of it serves, and a good night makes up for it.

The twin is the same evening and the night after it, from the same state and by the same seeds, with a good model.
"""

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from simulations.month.oracle import Serving


@dataclass(frozen=True)
class Pair:
    """An evening and the night after it: what served after each, and how many questions each asked."""

    served: Sequence[Serving | None]
    asked: Sequence[int]


@contextmanager
def rewound(folder: Path, world: Sequence[tuple[Any, Sequence[str]]]) -> Iterator[None]:
    """Undo at the end what happened within: in a folder, and to these attributes of some objects."""
    known = [(one, deepcopy({name: getattr(one, name) for name in names})) for one, names in world]
    with TemporaryDirectory() as kept:
        shutil.copytree(folder, kept, symlinks=True, dirs_exist_ok=True)
        yield
        shutil.rmtree(folder)
        shutil.copytree(kept, folder, symlinks=True)
    for one, values in known:
        vars(one).update(values)


def of_the_evening(before: Serving | None, after: Serving | None, said: Collection[str]) -> Iterator[str]:
    """Yield a sentence for phrases new after a bad evening that are none of those that the model `said` well."""
    new = dict(set(after.phrases.items() if after else ()) - set(before.phrases.items() if before else ()))
    if wrong := sorted(tool_id for tool_id, texts in new.items() if not set(texts).issubset(said)):
        yield f"{len(wrong)} tools serve phrases of a bad evening, such as {wrong[0]}: {new[wrong[0]][:1]}"


def of_the_night_after(pair: Pair, twin: Pair, stamped: str = "") -> Iterator[str]:
    """Yield a sentence for what a good night did not make up for, and for what it paid beyond the bad evening.

    Phrases for the source `stamped` are as old as the last question: they differ by the hour.
    """
    serving, good = pair.served[1], twin.served[1]
    if serving is None or good is None:
        return  # the oracle of each night tells of it
    for what in ("descriptions", "writers", "phrases"):
        ours, theirs = getattr(serving, what), getattr(good, what)
        differing = [tool_id for tool_id in sorted({*ours, *theirs}) if ours.get(tool_id) != theirs.get(tool_id)]
        if differing := [tool_id for tool_id in differing if tool_id.partition("/")[0] != stamped]:
            first = differing[0]
            yield (
                f"a good night after a bad evening left {len(differing)} {what} other than without it, such as "
                f"{first}: {ours.get(first)} and not {theirs.get(first)}"
            )
    if (more := sum(pair.asked) - sum(twin.asked)) > pair.asked[0]:
        yield f"a bad evening that asked {pair.asked[0]} questions cost {more} more"
