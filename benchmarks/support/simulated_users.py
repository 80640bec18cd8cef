"""Users whose truth is known: they ask, look at an answer from the top down, and call what they take for right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.feedback import Answer
from router.evaluation import Judgement
from router.feedback import Outcome


@dataclass(frozen=True, slots=True)
class Users:
    """How users act: a position-based click model with noise.

    A tool at rank j is looked at with probability j ** -bias. If it is right, it is called with probability `calls`; if
    not, with `mistakes`. A call of a right tool fails with probability `failures`; of a wrong one, half of the calls
    are reported as successes all the same.
    """

    bias: float = 1.0
    calls: float = 0.9
    mistakes: float = 0.06
    failures: float = 0.1

    def act(
        self,
        judgement: Judgement,
        tools: Sequence[str],
        at: float,
        random: np.random.Generator,
        wrong: str | None = None,
        caller: str | None = None,
    ) -> Answer:
        """Return an answer with what a user made of it; with `wrong`, a call of that tool, reported as a success."""
        outcomes: dict[str, Outcome] = {}
        for rank, tool in enumerate(tools, 1):
            looked_at = random.random() < rank**-self.bias
            right = tool in judgement.relevant
            called = random.random() < (self.calls if right else self.mistakes)
            fails = random.random() < (self.failures if right else 0.5)
            if looked_at and called:
                outcomes[tool] = Outcome.FAILED if fails else Outcome.SUCCEEDED
        if wrong is not None and wrong in tools:
            outcomes = {wrong: Outcome.SUCCEEDED}
        return Answer(at, judgement.request, caller, tuple(tools), outcomes)


def naive_shares(answers: Sequence[Answer]) -> Mapping[str, Mapping[str, float]]:
    """Return for each request the share of its answers that led to a call of each tool, as a log of calls has it."""
    times: dict[str, int] = {}
    calls: dict[str, dict[str, int]] = {}
    for answer in answers:
        if answer.outcomes and answer.request is not None:  # a log of calls has no line for an answer without one
            times[answer.request] = times.get(answer.request, 0) + 1
            of_request = calls.setdefault(answer.request, {})
            for tool in answer.outcomes:
                of_request[tool] = of_request.get(tool, 0) + 1
    return {
        request: {tool: count / times[request] for tool, count in sorted(by_tool.items())}
        for request, by_tool in calls.items()
    }
