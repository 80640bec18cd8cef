"""The budget of a build: US dollars to spend on a model, and tools to ask about."""


class Budget:
    """Limits on spending. None means unlimited.

    Money is reserved before a request is sent and settled when it is answered, so that the requests in flight together
    never exceed the limit.
    """

    def __init__(self, max_cost_usd: float | None = None, max_tools: int | None = None) -> None:
        self.max_cost_usd = max_cost_usd
        self.max_tools = max_tools
        self._spent_usd = 0.0
        self._reserved_usd = 0.0
        self._tools_asked = 0

    def reserve(self, cost_usd: float) -> "Reservation | None":
        """Reserve the highest cost of a question about one more tool; None where it does not fit."""
        reservation = Reservation(self)
        if self._has_asked_all or not reservation.extend(cost_usd):
            return None
        self._tools_asked += 1
        return reservation

    def reason(self) -> str:
        """Return a sentence that says why a request was not sent."""
        if self._has_asked_all:
            limit = f"enrichment.max_tools (--max-tools) is {self.max_tools:,}"
            return f"not asked: {self._tools_asked:,} other tools were, and {limit}"
        return (
            f"not asked: ${self._spent_usd:.4f} is spent, and one more question might exceed "
            f"enrichment.max_cost_usd (--max-cost), ${self.max_cost_usd or 0:g}"
        )

    @property
    def _has_asked_all(self) -> bool:
        return self.max_tools is not None and self._tools_asked >= self.max_tools


class Reservation:
    """Money reserved for one question and everything it takes: retries, and a second question."""

    def __init__(self, budget: Budget) -> None:
        """Reserve nothing yet: see `Budget.reserve`."""
        self._budget = budget
        self._reserved_usd = 0.0

    def extend(self, cost_usd: float) -> bool:
        """Reserve more money for the same question. Return whether it fits."""
        budget = self._budget
        used_usd = budget._spent_usd + budget._reserved_usd + cost_usd
        if budget.max_cost_usd is not None and used_usd > budget.max_cost_usd:
            return False
        budget._reserved_usd += cost_usd
        self._reserved_usd += cost_usd
        return True

    def settle(self, cost_usd: float | None) -> None:
        """Release the reservation and count its cost; None, where the cost is unknown, counts all that was reserved."""
        self._budget._reserved_usd -= self._reserved_usd
        self._budget._spent_usd += self._reserved_usd if cost_usd is None else cost_usd
