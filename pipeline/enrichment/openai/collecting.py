"""What becomes of the questions in batches: answers, failures, and what is asked again."""

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from openai.types import Batch as ServerBatch
from openai.types import BatchError

from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai.answers import Unreadable
from pipeline.enrichment.openai.client import Completion, Fault
from pipeline.enrichment.openai.exchange import judge
from pipeline.enrichment.openai.handing import Job, Office
from pipeline.enrichment.openai.requests import RUNGS
from pipeline.ledger import BatchRequest, LedgerEntry
from router.expansion import Expansion
from router.record import ToolRecord

_GROUP = 1_000  # outcomes committed together
_AGAIN = 1  # more times that a question is handed in, in one stretch, where nothing is wrong with it
# Kinds of fault that another batch may be spared.
_PASSING = ("rate", "server", "expired")
# What every batch would meet.
_HOPELESS = ("unusable", "quota")
_UNUSABLE_CODES = ("model_not_found", "invalid_api_key", "mismatched_model")
_QUEUE_FULL = "token_limit_exceeded"


class Collecting:
    """Collects the answers to some questions. `rung` is where the ladder of structured output stands; `unclaimed` is
    what answers took that nobody asks for any more."""

    def __init__(self, office: Office, generator: str, questions: Sequence[Question], rung: int) -> None:
        """`generator` is the name under which the ledger keeps the answers."""
        self.rung = rung
        self.unclaimed = TokenUsage()
        self._office = office
        self._ledger = office.ledger
        self._generator = generator
        self._left = {question.key: question for question in questions}
        self._tries: Counter[str] = Counter()
        self._again: dict[int, list[Question]] = {}
        self._held: dict[int, list[Question]] = {}
        self._queue = ""

    def needs(self, job: Job) -> bool:
        """Whether the end of a batch is worth waiting for."""
        return bool(self._held) or any(key in self._left for key in job.requests)

    def again(self) -> dict[int, list[Question]]:
        """The questions to be handed in once more, by rung; each is given once."""
        again, self._again = self._again, {}
        return again

    def finish(self, question: Question, outcome: Outcome) -> Outcome:
        """The outcome of a question, which is asked no more."""
        self._office.purse.settle(question.key, outcome.usage.cost_usd)
        self._left.pop(question.key, None)
        return outcome

    def waiting(self, running: Sequence[Job]) -> list[Outcome]:
        """A failure for each question that has no outcome yet. Its money stays set aside: it may be spent."""
        found: list[Outcome] = []
        for job in running:
            since = f"{job.batch.created_at:%Y-%m-%d %H:%M} UTC"
            message = f"in batch {job.batch_id} since {since}: a later build collects it"
            for key in job.requests:
                if question := self._left.pop(key, None):
                    found.append(GenerationFailure(question.record.tool_id, "waiting", message))
        for question in list(self._left.values()):
            message = f"not computed yet, a later build asks again, or make enrichment.batch smaller: {self._queue}"
            found.append(self.finish(question, GenerationFailure(question.record.tool_id, "waiting", message)))
        return found

    def end(self, job: Job, batch: ServerBatch | None) -> Iterator[Sequence[Outcome]]:
        """Outcomes of a batch that has ended, or that the server has lost (None).

        It is settled in the ledger once they are committed: a build that is killed before reads the same results again,
        for nothing. Raises RunAborted for what every batch would meet.
        """
        hopeless = ""
        if batch is None:
            lost = Fault("server", f"the server no longer knows batch {job.batch_id}")
            yield self._faulted(job, self._of(job), lost)
        elif batch.status == "failed":
            hopeless = yield from self._failed(job, batch)
        else:
            hopeless = yield from self._results(job, batch)
            # There is room in the server's queue again.
            for rung, questions in self._held.items():
                self._again.setdefault(rung, []).extend(questions)
            self._held = {}
        self._ledger.mark_settled(job.batch.token, batch.status if batch is not None else "lost")
        if hopeless:
            raise self._office.jobs.unusable(hopeless)

    def _results(self, job: Job, batch: ServerBatch) -> Generator[Sequence[Outcome], None, str]:
        """Outcomes by custom id, in whatever order the lines are; the server's words where no request had a chance."""
        entered = self._ledger.recorded_keys(job.batch.token)
        seen: set[str] = set()
        group: list[Outcome] = []
        kept: list[LedgerEntry] = []
        hopeless: list[Question] = []
        answered, strays, word = False, 0, ""
        for line in self._office.jobs.results(batch):
            request = job.requests.get(line[0]) if line else None
            if line is None or request is None or request.key in seen:
                strays += 1
                continue
            seen.add(request.key)
            result, question = line[1], self._left.get(request.key)
            if not isinstance(result, Fault):
                answered = True
                if question is not None:
                    outcome = self._read(result, question)
                    if request.key in entered:  # by a build that was killed before it settled the batch
                        outcome = replace(outcome, usage=TokenUsage())
                    group.append(self.finish(question, outcome))
                elif request.key not in entered:
                    kept.append(self._entry(job, request, self._read(result, _nobody_asks(request))))
            elif question is not None and result.kind in _HOPELESS:
                hopeless.append(question)
                word = result.message
            elif question is not None:
                group.extend(self._faulted(job, [question], result))
            if len(group) + len(kept) >= _GROUP:
                self._ledger.put_entries(self._ledger.latest_run(), kept)
                yield group
                group, kept = [], []
        if strays:
            self._office.note(f"{job.batch_id}: {strays:,} lines of its results answer no question of it")
        missing = [question for question in self._of(job) if question.key not in seen]
        kind = "server" if batch.status == "completed" else "expired"
        group += self._faulted(job, missing, Fault(kind, f"batch {job.batch_id} ({batch.status}) holds no answer"))
        if answered:
            group += self._faulted(job, hopeless, Fault("refused", word))
        self._ledger.put_entries(self._ledger.latest_run(), kept)
        if group:
            yield group
        return "" if answered else word

    def _failed(self, job: Job, batch: ServerBatch) -> Generator[Sequence[Outcome], None, str]:
        """A batch that was not begun, and costs nothing: the queue was full, lines were wrong, or there is no hope."""
        data = getattr(batch.errors, "data", None)
        errors = [error for error in data if isinstance(error, BatchError)] if isinstance(data, list) else []
        said = [str(error.message)[:300] for error in errors[:3]] or [str(batch.errors or "no reason is given")[:300]]
        word = "; ".join(dict.fromkeys(said))
        if any(error.code == _QUEUE_FULL for error in errors):
            self._held.setdefault(job.batch.output_mode, []).extend(self._of(job))
            self._queue = word
            return ""
        wrong = {error.line: str(error.message)[:300] for error in errors if error.line}
        if len(wrong) < len(errors) or not errors or any(error.code in _UNUSABLE_CODES for error in errors):
            return f"batch {job.batch_id} failed: {word}"
        group: list[Outcome] = []
        for question in self._of(job):
            line = job.requests[question.key].line
            met = Fault("refused", wrong[line]) if line in wrong else Fault("server", f"its batch failed: {word}")
            group += self._faulted(job, [question], met)
        yield group
        return ""

    def _of(self, job: Job) -> list[Question]:
        """The questions in a batch that have no outcome yet."""
        return [self._left[key] for key in job.requests if key in self._left]

    def _faulted(self, job: Job, questions: Sequence[Question], met: Fault) -> list[Outcome]:
        """Failures of questions that brought no completion; none of those that are asked again."""
        failures: list[Outcome] = []
        for question in questions:
            rung = job.batch.output_mode
            if met.kind == "format" and rung < len(RUNGS) - 1:
                rung += 1
                self.rung = max(self.rung, rung)
            elif met.kind in _PASSING and self._tries[question.key] < _AGAIN:
                self._tries[question.key] += 1
            else:
                kind = {"expired": "timeout", "format": "refused"}.get(met.kind, met.kind)
                failures.append(self.finish(question, GenerationFailure(question.record.tool_id, kind, met.message)))
                continue
            self._again.setdefault(rung, []).append(question)
        return failures

    def _read(self, result: Completion | Unreadable, question: Question) -> Outcome:
        tool_id = question.record.tool_id
        if isinstance(result, Unreadable):
            return GenerationFailure(tool_id, result.kind, str(result))
        requests = self._office.requests
        usage = requests.usage(result, batch=True)
        if question.key in self._left:
            requests.learn(requests.prompt_tokens([question]), result, 1)
        found = judge(result, [question])[question.key]
        if isinstance(found, Expansion):
            return GeneratedExpansion(tool_id, found, usage)
        if isinstance(found, Unreadable):
            return GenerationFailure(tool_id, found.kind, str(found), usage)
        return replace(found, usage=usage)

    def _entry(self, job: Job, request: BatchRequest, outcome: Outcome) -> LedgerEntry:
        """An outcome that nobody asks for any more, as the ledger keeps it: it was paid for."""
        usage = outcome.usage
        self.unclaimed = self.unclaimed + usage
        failure = outcome if isinstance(outcome, GenerationFailure) else None
        return LedgerEntry(
            expansion_key=request.key,
            record_hash=request.record_hash,
            tool_id=request.tool_id,
            generator=self._generator,
            model=self._office.settings.model,
            prompt_version=job.batch.prompt_version,
            prompt_tokens=usage.prompt_tokens,
            cached_tokens=usage.cached_tokens,
            completion_tokens=usage.completion_tokens,
            cost_usd=usage.cost_usd,
            expansion=None if isinstance(outcome, GenerationFailure) else outcome.expansion.to_json(),
            kind=failure.kind if failure else "",
            message=failure.message if failure else "",
        )


def _nobody_asks(request: BatchRequest) -> Question:
    """A question about a record that may be gone: its name is all that reading the answer takes."""
    return Question(request.key, ToolRecord(request.tool_id, None, request.name, ""))
