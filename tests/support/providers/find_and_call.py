"""What a sensible model does with `find_tools` and `call_tool`: one step, given what it has seen of the dialogue."""

import re
from collections.abc import Sequence
from typing import Any

# In the text of an answer, and in its JSON: some clients hand one to the model, some the other.
_FIRST_TOOL = re.compile(r'"tool_id": ?"([^"]+)"|^([\w./~-]+)\(', re.MULTILINE)


def next_step(request: str, results: Sequence[str]) -> tuple[str, dict[str, Any]] | str:
    """Return the next call, as a tool's name and arguments, or the final answer.

    The model searches with the user's words, then calls the first tool of the answer with the request as its text.
    """
    if not results:
        return "find_tools", {"request": request}
    if len(results) == 1:
        found = _FIRST_TOOL.search(results[0])
        if found is None:
            raise ValueError(f"find_tools found no tool: {results[0]}")
        return "call_tool", {"tool_id": found[1] or found[2], "arguments": {"text": request}}
    return f"Done: {results[-1]}"
