"""A circuit breaker for a model whose answers can never be used: each of them is paid for."""

from collections.abc import Iterable

from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, Outcome
from pipeline.enrichment.openai.answers import UNREADABLE

# A model that fails on half of its tools gets so many in a row once in 6,000 builds of 10,000 tools; one that fails on
# 30 %, never. See docs/decisions/model-requests.md.
MAX_UNUSABLE = 25
# Failures of tools whose answers were computed and paid for.
UNUSABLE = UNREADABLE | {"refusal", "truncated"}
_LONGEST_MESSAGE = 200


class Breaker:
    """Counts answers that cannot be used, in a row. Time-outs and the like are no answers, and do not count.

    `proven` tells that an answer could be used. `reason` is why to ask no more, empty while questions may be asked.
    """

    def __init__(self, model: str) -> None:
        self.proven = False
        self.reason = ""
        self._model = model
        self._in_a_row = 0

    def note(self, outcomes: Iterable[Outcome]) -> None:
        """Count outcomes in the order in which they came."""
        for outcome in outcomes:
            if isinstance(outcome, GeneratedExpansion):
                self.proven, self._in_a_row = True, 0
            elif outcome.kind in UNUSABLE:
                self._in_a_row += 1
                if self._in_a_row >= MAX_UNUSABLE and not self.reason:
                    self.reason = self._sentence(outcome)

    def _sentence(self, failure: GenerationFailure) -> str:
        last = "".join(letter if letter.isprintable() else " " for letter in failure.message[:_LONGEST_MESSAGE])
        return (
            f"not asked: {self._in_a_row} answers of {self._model!r} in a row could not be used, the last because "
            f"{last.strip()} ({failure.kind}). Check enrichment.model and enrichment.parameters, or build with "
            "--generator lexicon"
        )
