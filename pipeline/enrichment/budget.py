"""The budget of a build: US dollars to spend on a model, and tools to ask about."""

import threading


class Budget:
    """Limits on spending. None is no limit. Safe to use from several threads.

    Money is reserved before a request is sent and settled when it is answered, so that the requests in flight together
    never exceed the limit.
    """

    def __init__(self, max_cost_usd: float | None = None, max_tools: int | None = None) -> None:
        self.max_cost_usd = max_cost_usd
        self.max_tools = max_tools
        self._spent_usd = 0.0
        self._reserved_usd = 0.0
        self._tools_asked = 0
        self._lock = threading.Lock()

    def reserve(self, cost_usd: float) -> "Reservation | None":
        """Reserve the highest cost of a question about one more tool; None where it does not fit."""
        return Reservation(self, cost_usd) if self._add(cost_usd, 1) else None

    def reason(self) -> str:
        """Return a sentence that says why a request was not sent."""
        with self._lock:
            if self.max_tools is not None and self._tools_asked >= self.max_tools:
                limit = f"enrichment.max_tools (--max-tools) is {self.max_tools:,}"
                return f"not asked: {self._tools_asked:,} other tools were, and {limit}"
            return (
                f"not asked: ${self._spent_usd:.4f} is spent, and one more question might exceed "
                f"enrichment.max_cost_usd (--max-cost), ${self.max_cost_usd or 0:g}"
            )

    def _add(self, cost_usd: float, tools: int) -> bool:
        with self._lock:
            if self.max_tools is not None and self._tools_asked + tools > self.max_tools:
                return False
            if self.max_cost_usd is not None and self._spent_usd + self._reserved_usd + cost_usd > self.max_cost_usd:
                return False
            self._reserved_usd += cost_usd
            self._tools_asked += tools
            return True

    def _settle(self, reserved_usd: float, cost_usd: float) -> None:
        with self._lock:
            self._reserved_usd -= reserved_usd
            self._spent_usd += cost_usd


class Reservation:
    """Money reserved for one question and everything it takes: retries, and a second question."""

    def __init__(self, budget: Budget, reserved_usd: float) -> None:
        """Use `Budget.reserve`, which has counted the money already."""
        self._budget = budget
        self._reserved_usd = reserved_usd

    def extend(self, cost_usd: float) -> bool:
        """Reserve more money for the same question. Return whether it fits."""
        fits = self._budget._add(cost_usd, tools=0)
        if fits:
            self._reserved_usd += cost_usd
        return fits

    def settle(self, cost_usd: float | None) -> None:
        """Release the reservation and count its cost; None, where the cost is unknown, counts all that was reserved."""
        self._budget._settle(self._reserved_usd, self._reserved_usd if cost_usd is None else cost_usd)
