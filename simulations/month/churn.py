"""What must hold while a vendor writes the time into its descriptions, which makes each of them new every night."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from simulations.month.oracle import Outcome
from simulations.month.plan import STAMPED, Night

_MOST_ASKED = 0.5  # of the source's tools, each night on average


@dataclass
class Churn:
    """The nights so far in which a source's descriptions had the time in them.

    `published` counts those that read the source, `asked` the questions about its tools.
    """

    source: str = ""
    published: int = 0
    asked: int = 0
    told: bool = False

    def violations(
        self, night: Night, outcome: Outcome, asked: Collection[str], served: Collection[str]
    ) -> Iterator[str]:
        """Take in a night, and yield a sentence for each promise that is broken in the last of several."""
        if night.stamped != self.source:
            self.source, self.published, self.asked, self.told = night.stamped, 0, 0, False
        if not self.source:
            return
        self.asked += sum(tool_id.startswith(f"{self.source}/") for tool_id in asked)
        self.published += outcome.report.get("outcome") == "published" and night.source != self.source
        self.told |= any("again" in reason and self.source in reason for reason in outcome.reasons)
        if self.published < STAMPED:
            return
        tools = sum(tool_id.startswith(f"{self.source}/") for tool_id in served)
        if self.asked > _MOST_ASKED * STAMPED * tools:
            yield f"{self.asked} questions about {tools} tools of {self.source} in {STAMPED} nights of churn"
        if not self.told:
            yield f"nobody was told that the descriptions of {self.source} change every night"
