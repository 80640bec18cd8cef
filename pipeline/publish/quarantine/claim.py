"""What a tool says that it is: its name and the first sentence of its description.

The rest of a record is no support: who wants to be found for other tools' requests writes them into it. A claim is
short, so what is put there is put before every agent's eyes, in place of what the tool does.
"""

import re

from router.record import ToolRecord
from router.text import identifier_words
from router.tools.trust import sanitize

_LONGEST = 120  # characters: nine in ten first sentences of public MCP tools have at most 131
_END = re.compile(r"(?<=[.!?])\s|(?<=[。!?])")


def claim(record: ToolRecord) -> str:
    """Return the name in words and the first sentence of the description, at most 120 characters of it."""
    trusted, _ = sanitize(record)
    sentence = _END.split(" ".join(trusted.description.split()), maxsplit=1)[0][:_LONGEST]
    return f"{' '.join(identifier_words(trusted.name)) or trusted.name}. {sentence}"
