"""What a build may spend on a model: US dollars, and tools asked about."""

import threading


class Budget:
    """Money is set aside before a request is sent and settled when it is answered, so that requests under way together
    never pass the limit. None is no limit. Safe from several threads."""

    def __init__(self, max_cost_usd: float | None = None, max_tools: int | None = None) -> None:
        self.max_cost_usd = max_cost_usd
        self.max_tools = max_tools
        self._spent = 0.0
        self._set_aside = 0.0
        self._asked = 0
        self._lock = threading.Lock()

    def reserve(self, cost_usd: float, tools: int = 1) -> bool:
        """Set aside what a request may cost; whether it fits beside all that is spent and set aside."""
        with self._lock:
            if self.max_tools is not None and self._asked + tools > self.max_tools:
                return False
            if self.max_cost_usd is not None and self._spent + self._set_aside + cost_usd > self.max_cost_usd:
                return False
            self._set_aside += cost_usd
            self._asked += tools
            return True

    def settle(self, reserved_usd: float, cost_usd: float) -> None:
        """A request that was set aside has cost so much."""
        with self._lock:
            self._set_aside -= reserved_usd
            self._spent += cost_usd

    @property
    def tools_left(self) -> int | None:
        """How many tools may still be asked about; None without a limit."""
        with self._lock:
            return None if self.max_tools is None else max(0, self.max_tools - self._asked)

    @property
    def undecided(self) -> bool:
        """Whether money is set aside that may come back."""
        with self._lock:
            return self._set_aside > 1e-12

    def reason(self) -> str:
        """Why a request was not sent, in a sentence."""
        with self._lock:
            if self.max_tools is not None and self._asked >= self.max_tools:
                limit = f"enrichment.max_tools (--max-tools) is {self.max_tools:,}"
                return f"not asked: {self._asked:,} other tools were, and {limit}"
            return (
                f"not asked: ${self._spent:.4f} is spent, and one more question might exceed enrichment.max_cost_usd "
                f"(--max-cost), ${self.max_cost_usd or 0:g}"
            )


class Allowance:
    """What is set aside for one question and all that it takes: retries, and a second question."""

    def __init__(self, budget: Budget, reserved_usd: float) -> None:
        """Of what `Budget.reserve` has set aside already."""
        self._budget = budget
        self._reserved = reserved_usd

    def more(self, cost_usd: float) -> bool:
        """Set aside so much more; whether it fits."""
        fits = self._budget.reserve(cost_usd, tools=0)
        if fits:
            self._reserved += cost_usd
        return fits

    def settle(self, cost_usd: float | None) -> None:
        """All of it has cost so much; as much as was set aside, where nobody knows."""
        self._budget.settle(self._reserved, self._reserved if cost_usd is None else cost_usd)
