"""What must hold after each night on the cluster, whatever went wrong in it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from simulations.cluster_month.bucket import BucketReader, Contents
from simulations.cluster_month.builder import CONCURRENCY, Builder
from simulations.cluster_month.chain import Version, chain_violations, follows, publications
from simulations.cluster_month.plan import Night
from simulations.cluster_month.replica import Status
from simulations.month.oracle import Outcome


@dataclass(frozen=True)
class Evening:
    """What a night has left.

    Attributes:
        night: What was planned.
        outcomes: How each builder's build ended; None for one that did not build.
        contents: What lies in the bucket.
        chain: The versions of CURRENT, of all nights.
        statuses: What each router serves after the bucket works again, by its number.
        lost: Why routers that should run do not.
        published_before: How many publications there were before the night.
        followed: The numbers of the routers that ran all night.
    """

    night: Night
    outcomes: Sequence[Outcome | None]
    contents: Contents
    chain: Sequence[Version]
    statuses: Mapping[int, Status]
    lost: Sequence[str]
    published_before: int
    followed: Collection[int] = ()


@dataclass
class Oracle:
    """Checks each night against what it knows of the world.

    `grace` is how long the bucket keeps what nothing refers to. `swept` is when a build last cleaned the bucket up.
    `forgiven` are, by builder, questions that may be paid for once more, and how many of them: their answers were in
    flight when the build was killed.
    """

    reader: BucketReader
    grace: timedelta
    swept: datetime | None = None
    forgiven: dict[str, tuple[set[str], int]] = field(default_factory=dict)

    def violations(self, evening: Evening, builders: Sequence[Builder], truth: Mapping[str, str]) -> Iterator[str]:
        """Yield a sentence for each promise that the night broke. `truth` are the tools' descriptions by id."""
        yield from chain_violations(evening.chain)
        yield from self._head(evening)
        yield from self.reader.violations(evening.contents)
        yield from self._orphans(evening.contents)
        for builder, outcome in zip(builders, evening.outcomes, strict=True):
            yield from _ending(builder, outcome, evening)
            yield from self._payments(builder)
        yield from _claims(evening)
        yield from evening.lost
        for number, status in evening.statuses.items():
            yield from self._router(number, status, evening)
        if evening.night.quiet and not any(outcome and outcome.told for outcome in evening.outcomes):
            yield from self._fresh(evening.contents, truth)

    def forgive(self, builder: Builder) -> None:
        """Let a builder that was killed pay once more for answers that were in flight."""
        questions, most = self.forgiven.get(builder.name, (set(), 0))
        self.forgiven[builder.name] = questions | set(builder.model.tonight), most + CONCURRENCY

    def _head(self, evening: Evening) -> Iterator[str]:
        last = evening.chain[-1] if evening.chain else None
        found = evening.contents.head.get("revision"), evening.contents.current
        if last is not None and found != (last.revision, last.snapshot):
            yield f"CURRENT holds {found}, but the last version that was written is {last}"

    def _orphans(self, contents: Contents) -> Iterator[str]:
        if self.swept is not None and (orphans := self.reader.orphans(contents, self.swept, self.grace)):
            yield f"{len(orphans)} objects are referred to by nothing and past their grace, such as {orphans[0]}"

    def _payments(self, builder: Builder) -> Iterator[str]:
        questions, most = self.forgiven.get(builder.name, (set(), 0))
        forgiven = [question for question in builder.model.again if question in questions][:most]
        self.forgiven[builder.name] = questions - set(forgiven), most - len(forgiven)
        if repeated := len(builder.model.again) - len(forgiven):
            yield f"{builder.name} paid for {repeated} questions twice"

    def _router(self, number: int, status: Status, evening: Evening) -> Iterator[str]:
        router, published = f"router {number}", publications(evening.chain)
        if status.problem:
            yield f"{router} serves a snapshot that is not whole: {status.problem}"
        if evening.night.bucket == "away" and number in evening.followed and not status.warnings:
            yield f"{router} did not say that the bucket was away"
        if status.answered_from != status.snapshot:
            yield f"{router} serves {status.snapshot} and answered from {status.answered_from}"
        if not follows(status.served, published):
            yield f"{router} served {', '.join(status.served)}: it went back, or served what was not published"
        if status.snapshot != evening.contents.current:
            yield f"{router} serves {status.snapshot} and not {evening.contents.current}: {status.refusal or 'no word'}"
            return
        if status.content_hash != evening.contents.manifests[status.snapshot]["content_hash"]:
            yield f"{router} serves another content than {status.snapshot} has in the bucket"
        true = self.reader.descriptions(evening.contents, status.snapshot)
        if mixed := sorted(name for name, text in status.descriptions.items() if true.get(name) != text):
            yield f"{router} answers with descriptions that {status.snapshot} does not have, such as of {mixed[0]}"

    def _fresh(self, contents: Contents, truth: Mapping[str, str]) -> Iterator[str]:
        if contents.current is not None and self.reader.descriptions(contents, contents.current) != truth:
            yield f"after a quiet night {contents.current} does not hold the tools as they are"


def name_of(outcome: Outcome | None) -> str:
    """Return the name of the snapshot that a build's report names; empty where it names none."""
    return Path(str(outcome.report.get("snapshot") or "")).name if outcome else ""


def _ending(builder: Builder, outcome: Outcome | None, evening: Evening) -> Iterator[str]:
    """Yield what is wrong with how a build ended: a publication that is lost, or no publication and no word."""
    if outcome is None or outcome.killed:
        return
    if "Traceback" in outcome.stderr or outcome.code in (70, 139, 134):
        yield f"{builder.name} ended in an unforeseen error (exit code {outcome.code}): {outcome.stderr[-600:]}"
    published = publications(evening.chain)[max(0, evening.published_before - 1) :]
    done = outcome.report.get("outcome")
    if done == "published" and name_of(outcome) not in published:
        yield f"{builder.name} says that it published {name_of(outcome)}, which CURRENT never named: it is lost"
    if done not in ("published", "unchanged") and not (outcome.told and (outcome.stderr.strip() or outcome.report)):
        yield f"{builder.name} did not publish and did not say why (exit code {outcome.code})"


def _claims(evening: Evening) -> Iterator[str]:
    """Yield publications that nobody claims: no builder, and no operator, who may go back to what served before."""
    outcomes = [outcome for outcome in evening.outcomes if outcome is not None]
    claimed = {name_of(outcome) for outcome in outcomes if outcome.report.get("outcome") == "published"}
    unknown = any(outcome.killed or outcome.code not in (0, 1) for outcome in outcomes)
    published = publications(evening.chain)
    for number, name in enumerate(published):
        went_back = evening.night.operator and name in published[:number]
        if number >= evening.published_before and name not in claimed and not (went_back or unknown):
            yield f"{name} was published, and no builder says so"
