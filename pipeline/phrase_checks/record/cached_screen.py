"""What a screen said of an answer, kept for the next build: most answers of a catalog are those of the night before.

A file of the workspace that may be lost: what is not in it is screened.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.enrichment.prompt import PROMPT_VERSION
from pipeline.enrichment.verdict import Consequence, Verdict
from pipeline.phrase_checks.record import SCREEN_VERSION, Screen
from pipeline.phrase_checks.record.names import NameChanges
from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.record import ToolRecord


class CachedScreen:
    """A screen that is asked once about a record and an answer; again where they mention a name that has come or gone
    in the catalog, or is written in another way in it.

    `hashes` are those of the records, by tool id. 10,000 answers with 8 phrases each take a screen 20 s of one core.
    """

    def __init__(self, screen: Screen, hashes: Mapping[str, str], file: Path) -> None:
        """`file` need not be there; one that cannot be read, or is of another screen, counts as empty."""
        self._screen = screen
        self._hashes = hashes
        self._file = file
        self._state = fingerprint([SCREEN_VERSION, PROMPT_VERSION, screen.scripts])
        self._names = screen.names
        self._before, self._changed = self._read()
        self._now: dict[str, Any] = {}

    def __call__(self, record: ToolRecord, answer: Expansion) -> tuple[Expansion, tuple[Verdict, ...]]:
        """What is left of an answer, and a verdict for each text that is not."""
        key = fingerprint([record.tool_id, self._hashes[record.tool_id], answer.to_json()])[:32]
        if key in self._before and not self._changed.concerns(record, _texts(answer)):
            self._now[key] = self._before[key]
            return _told(self._before[key], answer)
        kept, verdicts = self._screen(record, answer)
        # Of an answer that is left whole there is nothing to say.
        self._now[key] = [kept.to_json(), [asdict(verdict) for verdict in verdicts]] if verdicts else None
        return kept, verdicts

    def save(self) -> None:
        """Write what this build's answers were told, and nothing of older ones."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        making = self._file.with_suffix(".making")
        making.write_text(json.dumps({"state": self._state, "names": self._names, "said": self._now}), encoding="utf-8")
        making.replace(self._file)

    def _read(self) -> tuple[Mapping[str, Any], NameChanges]:
        try:
            stored = json.loads(self._file.read_text(encoding="utf-8"))
            if stored["state"] == self._state:
                return dict(stored["said"]), NameChanges(stored["names"], self._names)
        except (OSError, ValueError, KeyError, TypeError):
            pass  # it may be lost
        return {}, NameChanges(self._names, self._names)


def _texts(answer: Expansion) -> list[str]:
    lists = (answer.user_phrases, answer.synonyms, answer.related_concepts, answer.task_categories)
    return [answer.when_to_use, *(text for texts in (*lists, *answer.translations.values()) for text in texts)]


def _told(said: Any, answer: Expansion) -> tuple[Expansion, tuple[Verdict, ...]]:
    if said is None:
        return answer, ()
    kept, verdicts = said
    lists: dict[str, Any] = {name: tuple(texts) if isinstance(texts, list) else texts for name, texts in kept.items()}
    lists["translations"] = {code: tuple(texts) for code, texts in kept.get("translations", {}).items()}
    return Expansion(**lists), tuple(
        Verdict(**{**row, "consequence": Consequence(row["consequence"])}) for row in verdicts
    )
