"""Keep a screen's verdicts for the next build, in which most answers of a catalog are the same.

They are in a file of the workspace that may be lost: an answer that is not in it is screened.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.enrichment.prompt import PROMPT_VERSION
from pipeline.enrichment.verdict import Consequence, TextVerdict
from pipeline.phrase_checks.record.checks import SCREEN_VERSION
from pipeline.phrase_checks.record.names import NameChanges
from pipeline.phrase_checks.record.screen import Screen
from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.record import ToolRecord


class CachedScreen:
    """A screen that checks a record and an answer once.

    It checks them again where they mention a name that came into or left the catalog, or is now written differently in
    it. 10,000 answers with 8 phrases each take a screen 20 s of one core.
    """

    def __init__(self, screen: Screen, hashes: Mapping[str, str], file: Path) -> None:
        """`hashes` are of the records, by tool id. A missing or damaged file, or another screen's, counts as empty."""
        self._screen = screen
        self._hashes = hashes
        self._file = file
        self._state = fingerprint([SCREEN_VERSION, PROMPT_VERSION, screen.scripts])
        self._names = screen.names
        self._previous, self._changes = self._read()
        self._current: dict[str, Any] = {}
        self._prepared: dict[str, tuple[Expansion, tuple[TextVerdict, ...]]] = {}

    def unknown(self, answers: Iterable[tuple[ToolRecord, Expansion]]) -> list[tuple[ToolRecord, Expansion]]:
        """Return the answers that have to be screened."""
        return [pair for pair in answers if not self._is_known(self._key(*pair), *pair)]

    def prepare(
        self,
        answers: Sequence[tuple[ToolRecord, Expansion]],
        screened: Sequence[tuple[Expansion, tuple[TextVerdict, ...]]],
    ) -> None:
        """Take the results of answers that were screened elsewhere, so that they are not screened here."""
        self._prepared.update({self._key(*pair): result for pair, result in zip(answers, screened, strict=True)})

    def __call__(self, record: ToolRecord, answer: Expansion) -> tuple[Expansion, tuple[TextVerdict, ...]]:
        """Return the answer without the texts that are dropped, and a verdict for each of these."""
        key = self._key(record, answer)
        if key not in self._prepared and self._is_known(key, record, answer):
            self._current[key] = self._previous[key]
            return _restored(self._previous[key], answer)
        screened, verdicts = self._prepared[key] if key in self._prepared else self._screen(record, answer)
        # None: the answer was left whole.
        self._current[key] = [screened.to_json(), [asdict(verdict) for verdict in verdicts]] if verdicts else None
        return screened, verdicts

    def _key(self, record: ToolRecord, answer: Expansion) -> str:
        return fingerprint([record.tool_id, self._hashes[record.tool_id], answer.to_json()])[:32]

    def _is_known(self, key: str, record: ToolRecord, answer: Expansion) -> bool:
        return key in self._previous and not self._changes.concerns(record, _texts(answer))

    def save(self) -> None:
        """Write the verdicts of this build's answers, and no others."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._file.with_suffix(".making")
        content = {"state": self._state, "names": self._names, "said": self._current}
        unfinished.write_text(json.dumps(content), encoding="utf-8")
        unfinished.replace(self._file)

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
    facts = (answer.requires, answer.provides)
    return [answer.when_to_use, *(text for texts in (*lists, *facts, *answer.translations.values()) for text in texts)]


def _restored(stored: Any, answer: Expansion) -> tuple[Expansion, tuple[TextVerdict, ...]]:
    if stored is None:
        return answer, ()
    screened, verdicts = stored
    lists: dict[str, Any] = {
        name: tuple(texts) if isinstance(texts, list) else texts for name, texts in screened.items()
    }
    lists["translations"] = {code: tuple(texts) for code, texts in screened.get("translations", {}).items()}
    return Expansion(**lists), tuple(
        TextVerdict(**{**row, "consequence": Consequence(row["consequence"])}) for row in verdicts
    )
