"""Read the background queries: everyday requests that ship with the project, in background.txt."""

from dataclasses import dataclass
from functools import cache
from importlib import resources

_SECTIONS = ("talk", "errand")


@dataclass(frozen=True, slots=True)
class BackgroundQuery:
    """An everyday request: an errand takes some tool, talk takes none."""

    request: str
    is_errand: bool


@cache
def background() -> tuple[BackgroundQuery, ...]:
    """Return the requests in the order of the file. Raises ValueError for one outside the file's two sections."""
    queries: list[BackgroundQuery] = []
    section = None
    lines = (
        resources.files("pipeline.learning.no_answer_calibration")
        .joinpath("background.txt")
        .read_text(encoding="utf-8")
        .split("\n")
    )
    for line in lines:
        if line.startswith("["):
            section = line.strip().strip("[]")
        elif line.strip() and not line.startswith("#"):
            if section not in _SECTIONS:
                raise ValueError(f"background.txt has {line!r} in section {section!r}: choose from {_SECTIONS}")
            queries.append(BackgroundQuery(line.strip(), section == "errand"))
    return tuple(queries)
