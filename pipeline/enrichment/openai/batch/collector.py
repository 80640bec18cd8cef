"""Collecting batches: answers, failures, and questions to submit again."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from openai.types import Batch as ServerBatch
from openai.types import BatchError

from pipeline.enrichment.commit import ledger_entry
from pipeline.enrichment.generator import GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai.answers import OutputMode, Unreadable, outcome_of, read_answers
from pipeline.enrichment.openai.batch.context import BatchContext, SubmittedBatch
from pipeline.enrichment.openai.chat import Completion
from pipeline.enrichment.openai.faults import ABORTING, Fault
from pipeline.enrichment.openai.retry import Abort, Attempt, Fail, FallBack, RetryPolicy
from pipeline.ledger import BatchRequest, LedgerEntry
from router.record import ToolRecord

_GROUP_SIZE = 1_000  # outcomes committed together
_LONGEST_MESSAGE = 300
# Codes of a failed batch that every batch would meet, and of one that found the server's queue full.
_UNUSABLE_CODES = ("model_not_found", "invalid_api_key", "mismatched_model")
_QUEUE_FULL = "token_limit_exceeded"


@dataclass
class _Results:
    """What is gathered from a batch's results.

    `outcomes` and `entries` wait for their commit; the latter are answers that no question asks for any more. `aborted`
    are questions with a fault that every request would meet, `abort_message` is the server's word on it.
    """

    seen: set[str] = field(default_factory=set)
    outcomes: list[Outcome] = field(default_factory=list)
    entries: list[LedgerEntry] = field(default_factory=list)
    aborted: list[Question] = field(default_factory=list)
    abort_message: str = ""
    answered: bool = False
    strays: int = 0


class BatchCollector:
    """Collects the answers to some questions.

    `output_mode` is the first mode in the fallback order that the server has not refused. `unclaimed` is the usage of
    answers that no question asks for any more.
    """

    def __init__(
        self, context: BatchContext, generator: str, questions: Sequence[Question], output_mode: OutputMode
    ) -> None:
        """`generator` is the name under which the ledger stores the answers."""
        self.output_mode = output_mode
        self.unclaimed = TokenUsage()
        self._context = context
        self._ledger = context.ledger
        self._generator = generator
        self._policy = RetryPolicy.of_batched_questions()
        self._open = {question.key: question for question in questions}
        self._attempts: dict[str, Attempt] = {}
        self._resubmissions: dict[OutputMode, list[Question]] = {}
        self._queued_out: dict[OutputMode, list[Question]] = {}  # the server's queue had no room for them
        self._queue_message = ""

    def needs(self, batch: SubmittedBatch) -> bool:
        """Return whether the end of a batch is worth waiting for."""
        return bool(self._queued_out) or any(key in self._open for key in batch.requests)

    def take_resubmissions(self) -> dict[OutputMode, list[Question]]:
        """Return the questions to submit again, by output mode, and forget them."""
        resubmissions, self._resubmissions = self._resubmissions, {}
        return resubmissions

    def finish(self, question: Question, outcome: Outcome) -> Outcome:
        """Close a question with its outcome, settle its money, and return the outcome."""
        self._context.settle(question.key, outcome.usage.cost_usd)
        self._open.pop(question.key, None)
        return outcome

    def postpone(self, open_batches: Sequence[SubmittedBatch]) -> list[Outcome]:
        """Return a failure for each open question. Money for those in a batch stays reserved: it may be spent."""
        outcomes: list[Outcome] = []
        for batch in open_batches:
            since = f"{batch.batch.created_at:%Y-%m-%d %H:%M} UTC"
            message = f"in batch {batch.batch_id} since {since}: a later build collects it"
            for key in batch.requests:
                if question := self._open.pop(key, None):
                    outcomes.append(GenerationFailure(question.record.tool_id, "waiting", message))
        for question in list(self._open.values()):
            message = (
                f"not computed yet, a later build asks again, or make enrichment.batch smaller: {self._queue_message}"
            )
            outcomes.append(self.finish(question, GenerationFailure(question.record.tool_id, "waiting", message)))
        return outcomes

    def end(self, batch: SubmittedBatch, server_batch: ServerBatch | None) -> Iterator[Sequence[Outcome]]:
        """Yield the outcomes of a batch that has ended, or that the server has lost (None).

        The ledger marks it as settled once they are committed: after a kill before that, the next build reads the same
        results again, at no cost. Raises RunAborted for a fault that every batch would meet.
        """
        abort_message = ""
        if server_batch is None:
            lost = Fault("server", f"the server no longer knows batch {batch.batch_id}")
            yield self._resubmit_or_fail(batch, self._open_questions(batch), lost)
        elif server_batch.status == "failed":
            abort_message = yield from self._failed(batch, server_batch)
        else:
            abort_message = yield from self._results(batch, server_batch)
            # There is room in the server's queue again.
            for output_mode, questions in self._queued_out.items():
                self._resubmissions.setdefault(output_mode, []).extend(questions)
            self._queued_out = {}
        self._ledger.batches.mark_settled(
            batch.batch.token, server_batch.status if server_batch is not None else "lost"
        )
        if abort_message:
            raise self._context.client.unusable(abort_message)

    def _results(self, batch: SubmittedBatch, server_batch: ServerBatch) -> Generator[Sequence[Outcome], None, str]:
        """Yield outcomes; return the server's message where every request would fail, else an empty text."""
        recorded = self._ledger.batches.recorded_keys(batch.batch.token)
        results = _Results()
        for line in self._context.client.results(server_batch):
            request = batch.requests.get(line[0]) if line else None
            if line is None or request is None or request.key in results.seen:
                results.strays += 1
                continue
            results.seen.add(request.key)
            self._add_result(results, batch, request, line[1], is_recorded=request.key in recorded)
            if len(results.outcomes) + len(results.entries) >= _GROUP_SIZE:
                yield self._flush(results)
        if results.strays:
            self._context.note(f"{batch.batch_id}: {results.strays:,} lines of its results answer no question of it")
        missing = [question for question in self._open_questions(batch) if question.key not in results.seen]
        kind = "server" if server_batch.status == "completed" else "expired"
        fault = Fault(kind, f"batch {batch.batch_id} ({server_batch.status}) holds no answer")
        results.outcomes += self._resubmit_or_fail(batch, missing, fault)
        if results.answered:  # then the fault is these requests' own
            refusal = Fault("refused", results.abort_message)
            results.outcomes += self._resubmit_or_fail(batch, results.aborted, refusal)
        outcomes = self._flush(results)
        if outcomes:
            yield outcomes
        return "" if results.answered else results.abort_message

    def _add_result(
        self,
        results: _Results,
        batch: SubmittedBatch,
        request: BatchRequest,
        result: Completion | Unreadable | Fault,
        *,
        is_recorded: bool,
    ) -> None:
        """Add one line's result. `is_recorded` tells that a build committed it and was killed before it settled."""
        question = self._open.get(request.key)
        if isinstance(result, Fault):
            if question is not None and result.kind in ABORTING:
                results.aborted.append(question)
                results.abort_message = result.message
            elif question is not None:
                results.outcomes.extend(self._resubmit_or_fail(batch, [question], result))
            return
        results.answered = True
        if question is not None:
            outcome = self._read(result, question)
            if is_recorded:
                outcome = replace(outcome, usage=TokenUsage())
            self._context.breaker.note([outcome])
            results.outcomes.append(self.finish(question, outcome))
        elif not is_recorded:
            results.entries.append(self._unclaimed_entry(batch, request, result))

    def _flush(self, results: _Results) -> list[Outcome]:
        """Commit the entries that are gathered; return the outcomes, which the caller commits."""
        self._ledger.answers.put_entries(self._ledger.latest_run(), results.entries)
        outcomes, results.outcomes, results.entries = results.outcomes, [], []
        return outcomes

    def _failed(self, batch: SubmittedBatch, server_batch: ServerBatch) -> Generator[Sequence[Outcome], None, str]:
        """Yield the outcomes of a batch that was never begun and costs nothing.

        The server's queue was full, lines were invalid, or every batch would fail: then return the server's message.
        """
        data = getattr(server_batch.errors, "data", None)
        errors = [error for error in data if isinstance(error, BatchError)] if isinstance(data, list) else []
        messages = [str(error.message)[:_LONGEST_MESSAGE] for error in errors[:3]]
        if not messages:
            messages = [str(server_batch.errors or "no reason is given")[:_LONGEST_MESSAGE]]
        summary = "; ".join(dict.fromkeys(messages))
        if any(error.code == _QUEUE_FULL for error in errors):
            output_mode = OutputMode(batch.batch.output_mode)
            self._queued_out.setdefault(output_mode, []).extend(self._open_questions(batch))
            self._queue_message = summary
            return ""
        invalid_lines = {error.line: str(error.message)[:_LONGEST_MESSAGE] for error in errors if error.line}
        if len(invalid_lines) < len(errors) or not errors or any(error.code in _UNUSABLE_CODES for error in errors):
            return f"batch {batch.batch_id} failed: {summary}"
        outcomes: list[Outcome] = []
        for question in self._open_questions(batch):
            line = batch.requests[question.key].line
            if line in invalid_lines:
                fault = Fault("refused", invalid_lines[line])
            else:
                fault = Fault("server", f"its batch failed: {summary}")
            outcomes += self._resubmit_or_fail(batch, [question], fault)
        yield outcomes
        return ""

    def _open_questions(self, batch: SubmittedBatch) -> list[Question]:
        """Return the questions in a batch that have no outcome yet."""
        return [self._open[key] for key in batch.requests if key in self._open]

    def _resubmit_or_fail(self, batch: SubmittedBatch, questions: Sequence[Question], fault: Fault) -> list[Outcome]:
        """Note which of these questions to submit again; return the failures of the others."""
        failures: list[Outcome] = []
        for question in questions:
            output_mode = OutputMode(batch.batch.output_mode)
            attempt = replace(self._attempts.get(question.key, Attempt()), output_mode=output_mode)
            match self._policy.next_step(attempt, fault):
                case Fail(kind):
                    failure = GenerationFailure(question.record.tool_id, kind, fault.message)
                    failures.append(self.finish(question, failure))
                    continue
                case Abort():
                    raise fault
                case FallBack(next_mode):
                    output_mode = next_mode
                    self.output_mode = max(self.output_mode, output_mode)
                case _:
                    self._attempts[question.key] = attempt.after(fault)
            self._resubmissions.setdefault(output_mode, []).append(question)
        return failures

    def _read(self, result: Completion | Unreadable, question: Question) -> Outcome:
        if isinstance(result, Unreadable):
            return outcome_of(question, result, TokenUsage())
        requests = self._context.requests
        if question.key in self._open:
            requests.learn(requests.prompt_tokens([question]), result, 1)
        answer = read_answers(result, [question])[question.key]
        return outcome_of(question, answer, requests.usage(result, batch=True), result)

    def _unclaimed_entry(
        self, batch: SubmittedBatch, request: BatchRequest, result: Completion | Unreadable
    ) -> LedgerEntry:
        """Return an answer that no question asks for any more as the ledger stores it: it was paid for."""
        # The record may be gone: reading the answer takes no more than its name.
        question = Question(request.key, ToolRecord(request.tool_id, None, request.name, ""))
        outcome = self._read(result, question)
        self.unclaimed = self.unclaimed + outcome.usage
        return ledger_entry(
            outcome,
            key=request.key,
            record_hash=request.record_hash,
            generator=self._generator,
            model=self._context.settings.model,
            prompt_version=batch.batch.prompt_version,
        )
