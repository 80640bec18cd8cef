"""What a screen said of an answer, kept for the next build: most answers of a catalog are those of the night before.

A file of the workspace that may be lost: what is not in it is screened.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.enrichment.prompt import PROMPT_VERSION
from pipeline.enrichment.verdict import Consequence, TextVerdict
from pipeline.phrase_checks.record import SCREEN_VERSION, Screen
from pipeline.phrase_checks.record.names import Changed
from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.record import ToolRecord


class RememberingScreen:
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
        self._prepared: dict[str, tuple[Expansion, tuple[TextVerdict, ...]]] = {}

    def unknown(self, answers: Iterable[tuple[ToolRecord, Expansion]]) -> list[tuple[ToolRecord, Expansion]]:
        """Return the answers that have to be screened."""
        return [pair for pair in answers if not self._is_remembered(self._key(*pair), *pair)]

    def prepare(
        self,
        answers: Sequence[tuple[ToolRecord, Expansion]],
        screened: Sequence[tuple[Expansion, tuple[TextVerdict, ...]]],
    ) -> None:
        """Take what the screen said of answers elsewhere, so that it is not asked here."""
        self._prepared.update({self._key(*pair): result for pair, result in zip(answers, screened, strict=True)})

    def __call__(self, record: ToolRecord, answer: Expansion) -> tuple[Expansion, tuple[TextVerdict, ...]]:
        """What is left of an answer, and a verdict for each text that is not."""
        key = self._key(record, answer)
        if key not in self._prepared and self._is_remembered(key, record, answer):
            self._now[key] = self._before[key]
            return _told(self._before[key], answer)
        kept, verdicts = self._prepared[key] if key in self._prepared else self._screen(record, answer)
        # Of an answer that is left whole there is nothing to say.
        self._now[key] = [kept.to_json(), [asdict(verdict) for verdict in verdicts]] if verdicts else None
        return kept, verdicts

    def save(self) -> None:
        """Write what this build's answers were told, and nothing of older ones."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        making = self._file.with_suffix(".making")
        making.write_text(json.dumps({"state": self._state, "names": self._names, "said": self._now}), encoding="utf-8")
        making.replace(self._file)

    def _key(self, record: ToolRecord, answer: Expansion) -> str:
        return fingerprint([record.tool_id, self._hashes[record.tool_id], answer.to_json()])[:32]

    def _is_remembered(self, key: str, record: ToolRecord, answer: Expansion) -> bool:
        return key in self._before and not self._changed.concerns(record, _texts(answer))

    def _read(self) -> tuple[Mapping[str, Any], Changed]:
        try:
            stored = json.loads(self._file.read_text(encoding="utf-8"))
            if stored["state"] == self._state:
                return dict(stored["said"]), Changed(stored["names"], self._names)
        except (OSError, ValueError, KeyError, TypeError):
            pass  # it may be lost
        return {}, Changed(self._names, self._names)


def _texts(answer: Expansion) -> list[str]:
    lists = (answer.user_phrases, answer.synonyms, answer.related_concepts, answer.task_categories)
    return [answer.when_to_use, *(text for texts in (*lists, *answer.translations.values()) for text in texts)]


def _told(said: Any, answer: Expansion) -> tuple[Expansion, tuple[TextVerdict, ...]]:
    if said is None:
        return answer, ()
    kept, verdicts = said
    lists: dict[str, Any] = {name: tuple(texts) if isinstance(texts, list) else texts for name, texts in kept.items()}
    lists["translations"] = {code: tuple(texts) for code, texts in kept.get("translations", {}).items()}
    return Expansion(**lists), tuple(
        TextVerdict(**{**row, "consequence": Consequence(row["consequence"])}) for row in verdicts
    )
