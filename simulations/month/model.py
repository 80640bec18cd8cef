"""A language model's server with faults and bad evenings by name. It remembers the questions it answered well."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from router.fingerprint import fingerprint
from simulations.month.evenings import EVENINGS, about, words_of
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion, error, tool_of

_PHRASES = ("please {} for me", "could you {} today", "i need to {} before noon", "help me {} quickly")


def _good(tool: Mapping[str, Any]) -> list[str]:
    words = words_of(tool)
    return [f"i want to {tool['description']}", *(phrase.format(words) for phrase in _PHRASES)]


# Faults by name. Each takes the number of the question in its night.
FAULTS: dict[str, Callable[[int], Reply | None]] = {
    "hangs up": lambda number: Reply("", drop=True),
    "wrong key": lambda number: error(401, "Incorrect API key provided", code="invalid_api_key"),
    "no quota": lambda number: error(429, "You exceeded your current quota", code="insufficient_quota"),
    "overloaded": lambda number: error(503, "The server is overloaded", "server_error"),
    "burst of 429": lambda number: error(429, "Rate limit reached", "requests") if number <= 5 else None,
    "prose": lambda number: Reply(completion("I would rather write a poem.")),
    "every second one fails": lambda number: error(500, "internal error", "server_error") if number % 2 else None,
}


@dataclass
class Model:
    """The model.

    `answered` counts good answers by question, of all nights. `tonight` lists the questions of this night, `again`
    those among them that had a good answer before. `said` has the phrases of good answers.
    """

    fault: str = ""
    answered: Counter[str] = field(default_factory=Counter)
    tonight: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    tool_ids: dict[str, str] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)

    @property
    def unanswered(self) -> int:
        """The number of questions of this night that have no good answer."""
        return sum(not self.answered[question] for question in set(self.tonight))

    def forget(self, served: Collection[str]) -> None:
        """Forget answers, as a lost ledger does: all but those about tools that a snapshot serves."""
        for question in list(self.answered):
            if self.tool_ids[question] not in served:
                del self.answered[question]

    def begin(self, fault: str) -> None:
        """Begin a night with this fault; empty for none."""
        self.fault = fault
        self.tonight.clear()
        self.again.clear()

    def server(self) -> ModelServer:
        """Return the server, to be entered."""
        return ModelServer(self._reply)

    def _reply(self, body: dict[str, Any], _: int) -> Reply:
        tool = tool_of(body)
        question = fingerprint([body["model"], [message["content"] for message in body["messages"]]])
        self.tonight.append(question)
        self.tool_ids[question] = f"{tool['provider']}/{tool['name']}"
        if self.fault in EVENINGS:
            reply = EVENINGS[self.fault](tool, question)
        else:
            reply = FAULTS[self.fault](len(self.tonight)) if self.fault else None
        if reply is not None:
            return reply
        if self.answered[question]:
            self.again.append(question)
        self.answered[question] += 1
        phrases = _good(tool)
        self.said.update(phrases)
        return about(tool, phrases)
