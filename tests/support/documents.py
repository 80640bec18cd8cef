"""Code blocks of the documents, as tests run them.

A mark stands on the line above a block: `<!-- run: model -->` says what must be at hand, `<!-- not run: why -->` that
nothing can run it here. A block without a mark runs as it is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.places import ROOT

_BLOCK = re.compile(r"(?:^<!-- ([^\n]*?) -->\n)?^(`{3,})([\w{}.-]*)\n(.*?)^\2$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: where it stands, its language and its mark ("" where it has none)."""

    page: str
    line: int
    language: str
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def not_run(self) -> str | None:
        """Return why nothing can run it here, or None."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else None


@cache
def pages() -> tuple[Path, ...]:
    """Return the documents whose blocks are held: the README, the site's pages, those beside a room."""
    named = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "catalogs/README.md")]
    site = [path for path in sorted((ROOT / "docs").rglob("*.md")) if not {"_build", "decisions"} & set(path.parts)]
    return tuple(path for path in [*named, *site] if path.exists())


def blocks(language: str | None = None, mark: str | None = None, page: Path | None = None) -> list[Block]:
    """Return the blocks in order, of one language, mark or page where given."""
    return [
        block
        for path in ([page] if page else pages())
        for block in _read(path)
        if language in (None, block.language) and mark in (None, block.mark)
    ]


def commands(mark: str = "", page: Path | None = None) -> list[str]:
    """Return the lines of the shell blocks with this mark, in order, without their comments."""
    return [line for block in blocks("sh", mark, page) for line in lines(block)]


def lines(block: Block) -> list[str]:
    """Return the commands of a shell block, without comments; a line that ends with a backslash goes on."""
    joined = block.text.replace("\\\n", " ")
    without = (re.split(r"(?:^|\s{2,})#\s", line)[0].strip() for line in joined.splitlines())
    return [line for line in without if line]


def _read(path: Path) -> Iterator[Block]:
    text = path.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        mark = (found[1] or "").removeprefix("run:").strip()
        line = text.count("\n", 0, found.start(2)) + 1
        yield Block(path.relative_to(ROOT).as_posix(), line, found[3], mark, found[4])
