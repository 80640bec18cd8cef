"""Which answer a later call belongs to, where the protocol carries no id between the two."""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable

_ANSWERS = 64  # of one dialogue: an older one is hardly what a call answers
_DIALOGUES = 1_000


class RecentAnswers:
    """Remembers the latest answers of each dialogue, within bounds, and forgets the dialogues unused for longest."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._dialogues: OrderedDict[str, deque[tuple[str, frozenset[str]]]] = OrderedDict()

    def add(self, dialogue: str, answer: str, tool_ids: Iterable[str]) -> None:
        """Remember the id of an answer, and the tools that it offered."""
        with self._changing:
            answers = self._dialogues.setdefault(dialogue, deque(maxlen=_ANSWERS))
            answers.append((answer, frozenset(tool_ids)))
            self._dialogues.move_to_end(dialogue)
            if len(self._dialogues) > _DIALOGUES:
                self._dialogues.popitem(last=False)

    def answer_of(self, dialogue: str, tool_id: str) -> str | None:
        """Return the id of the dialogue's latest answer that offered a tool; None where none did."""
        with self._changing:
            answers = self._dialogues.get(dialogue, ())
            return next((answer for answer, offered in reversed(answers) if tool_id in offered), None)
