"""README.md, and that of the servers, as the tests read them: each marked block, by what its mark says."""

import re
from collections.abc import Iterator

from tests.support.places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
_SERVERS = (ROOT / "router" / "serving" / "README.md").read_text(encoding="utf-8")
_BLOCKS = re.compile(r"<!-- run(?:: (\w+))? -->\n```(\w+)\n(.*?)```", re.DOTALL)


def commands(mark: str = "") -> list[str]:
    """The lines of the shell blocks with this mark, in order, without their comments."""
    lines = (line for block in _blocks("sh", mark) for line in block.splitlines())
    return [line.partition("  #")[0].strip() for line in lines if line.strip()]


def examples(mark: str = "") -> list[str]:
    """The Python blocks with this mark, in order."""
    return list(_blocks("python", mark))


def _blocks(language: str, mark: str) -> Iterator[str]:
    for found_mark, found_language, block in _BLOCKS.findall(README + _SERVERS):
        if (found_mark, found_language) == (mark, language):
            yield block
