"""What submitting and collecting share: the context, and a batch with its requests."""

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.enrichment.budget import Budget, Reservation
from pipeline.enrichment.generator import Question
from pipeline.enrichment.openai.batch.client import BatchClient
from pipeline.enrichment.openai.breaker import Breaker
from pipeline.enrichment.openai.requests import RequestBuilder
from pipeline.ledger import Batch, BatchRequest, Ledger
from pipeline.settings import EnrichmentSettings


@dataclass(frozen=True, slots=True)
class SubmittedBatch:
    """A batch that the server has under `batch_id`, and its requests by key."""

    batch: Batch
    batch_id: str
    requests: dict[str, BatchRequest]


@dataclass(frozen=True)
class BatchContext:
    """What submitting and collecting share.

    `reservations` holds the reserved money of open questions, by key. `note` is called with the progress of batches.
    """

    settings: EnrichmentSettings
    requests: RequestBuilder
    budget: Budget
    reservations: dict[str, Reservation]
    client: BatchClient
    ledger: Ledger
    breaker: Breaker
    note: Callable[[str], None]

    def reserve(self, question: Question) -> bool:
        """Reserve a question's highest cost once, however often it is submitted. Return whether the budget has room."""
        if question.key in self.reservations:
            return True
        reservation = self.budget.reserve(self.requests.highest_cost([question], batch=True))
        if reservation is None:
            return False
        self.reservations[question.key] = reservation
        return True

    def settle(self, key: str, cost_usd: float | None) -> None:
        """Settle a question's reservation. A question of an earlier build was in that build's budget and has none."""
        reservation = self.reservations.pop(key, None)
        if reservation is not None:
            reservation.settle(cost_usd)
