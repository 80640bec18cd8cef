"""The generator that uses the Batch API: questions are answered within a day, at a share of the price.

A batch is in the ledger before it is submitted and until its answers are stored: a build that ends or is killed leaves
its batches to the next.
"""

import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from threading import Event

from openai.types import Batch as ServerBatch
from openai.types import BatchError

from pipeline.enrichment import prompt
from pipeline.enrichment.ask import ledger_entry
from pipeline.enrichment.budget import Budget, Reservation
from pipeline.enrichment.generator import NEVER, UNASKED, GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai.answers import OutputMode, Unreadable, read_answer
from pipeline.enrichment.openai.batch_calls import END_STATUSES, BatchCalls, BatchResult
from pipeline.enrichment.openai.breaker import MAX_UNUSABLE, UNUSABLE
from pipeline.enrichment.openai.chat import Completion
from pipeline.enrichment.openai.faults import ABORTING, TRANSIENT, Fault
from pipeline.enrichment.openai.requests import ModelGenerator
from pipeline.enrichment.prompt import echo
from pipeline.errors import RunAborted, Unavailable
from pipeline.ledger import Batch, BatchRequest, Ledger, LedgerEntry
from pipeline.ledger.database import utc_now
from pipeline.records import record_hash
from pipeline.settings import EnrichmentSettings
from router.record import ToolRecord

_LONGEST_MESSAGE = 300
# Codes of a failed batch that every batch would meet, and of one that found the server's queue full.
_UNUSABLE_CODES = ("model_not_found", "invalid_api_key", "mismatched_model")
_QUEUE_FULL = "token_limit_exceeded"


class BatchGenerator(ModelGenerator):
    """Asks a chat model about all tools at once. Questions that stay unanswered while the build waits are postponed.

    `reservations` holds the reserved money of open questions by key, `waited_s` how long the build has waited.
    """

    def __init__(
        self,
        settings: EnrichmentSettings,
        ledger: Ledger,
        budget: Budget | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        """Send nothing yet. `note` is called with the state of a batch whenever it changes."""
        super().__init__(settings, budget)
        self.ledger = ledger
        self.note = note or (lambda _: None)
        self.reservations: dict[str, Reservation] = {}
        self.waited_s = 0.0

    def generate(self, questions: Sequence[Question], stop: Event = NEVER) -> Iterator[Sequence[Outcome]]:
        """Yield outcomes in groups, batch by batch. A question that an earlier batch holds is not asked again.

        Answers that no question asks for any more are stored in the ledger and counted in `unclaimed`. Raises
        RunAborted where no batch can be created or computed, Unavailable where the server does not answer. Once `stop`
        is set, the batches stay open.
        """
        if not questions:
            return
        calls = BatchCalls(self.settings, stop)
        try:
            yield from (group for group in _Session(self, calls, questions, stop).groups() if group)
        finally:
            calls.close()


class _Session:
    """One run over some questions: submits those that no batch holds, and collects the answers to all of them."""

    def __init__(
        self, generator: BatchGenerator, calls: BatchCalls, questions: Sequence[Question], stop: Event
    ) -> None:
        self._generator = generator
        self._ledger, self._requests, self._settings = generator.ledger, generator.requests, generator.settings
        self._calls = calls
        self._stop = stop
        self._open = {question.key: question for question in questions}
        self._batches: dict[Batch, dict[str, BatchRequest]] = {}  # that the server has, their requests by key
        self._to_submit: defaultdict[OutputMode, list[Question]] = defaultdict(list)
        self._submitted_again: set[str] = set()
        self._queued_out: defaultdict[OutputMode, list[Question]] = defaultdict(list)  # the server's queue was full
        self._queue_message = ""
        self._noted: dict[str, str] = {}
        self._failed_looks: Counter[Batch] = Counter()

    def groups(self) -> Iterator[Sequence[Outcome]]:
        """Yield outcomes, some groups empty, until every question has one."""
        self._take_over()
        submitted = {key for requests in self._batches.values() for key in requests}
        new = [question for key, question in self._open.items() if key not in submitted]
        self._to_submit[self._generator.output_mode] += new
        limits = self._settings.batch
        while True:
            to_submit, self._to_submit = self._to_submit, defaultdict(list)
            for output_mode, questions in to_submit.items():
                yield self._submit(questions, output_mode)
            for batch in list(self._batches):
                try:
                    server_batch = self._calls.look(batch)
                except Unavailable:
                    self._failed_looks[batch] += 1
                    if self._failed_looks[batch] > self._settings.max_retries:
                        raise
                    continue
                del self._failed_looks[batch]
                if server_batch is not None and server_batch.status not in END_STATUSES:
                    self._note_progress(server_batch)
                    continue
                yield from self._end(batch, server_batch)
                del self._batches[batch]
                if self._stop.is_set():
                    return
            if self._to_submit:
                continue
            if not any(map(self._is_awaited, self._batches)) or self._generator.waited_s >= limits.wait_s:
                break
            pause_s = min(limits.poll_s, limits.wait_s - self._generator.waited_s)
            self._calls.sleep(pause_s)
            self._generator.waited_s += pause_s
        yield self._postpone()

    def _is_awaited(self, batch: Batch) -> bool:
        """Return whether the end of a batch is worth waiting for."""
        return bool(self._queued_out) or any(key in self._open for key in self._batches[batch])

    def _take_over(self) -> None:
        """Take over the open batches of earlier builds, and of earlier stages of this one."""
        for batch in self._ledger.batches.unsettled(self._calls.server, self._settings.model):
            batch_id = batch.batch_id or self._find_unconfirmed(batch)
            if batch_id is None:
                self._ledger.batches.mark_settled(batch.token, "not sent")
                continue
            if batch.batch_id is None:
                self._ledger.batches.mark_created(batch.token, batch_id)
            requests = self._ledger.batches.requests(batch.token)
            self._batches[replace(batch, batch_id=batch_id)] = {request.key: request for request in requests}

    def _find_unconfirmed(self, batch: Batch) -> str | None:
        """Return the id of a batch that was created by a build that crashed before it recorded the id."""
        if batch.file_id is None or batch.asked_at is None:
            return None
        while True:
            batch_id = self._calls.find(batch)
            # The server may still be creating it, for as long as the build would have waited for its answer.
            remaining_s = self._settings.timeout_s - (utc_now() - batch.asked_at).total_seconds()
            if batch_id is not None or not 0 < remaining_s <= self._settings.timeout_s:
                return batch_id
            self._calls.sleep(min(remaining_s, self._settings.batch.poll_s))

    def _submit(self, questions: Sequence[Question], output_mode: OutputMode) -> list[Outcome]:
        """Submit questions as far as the budget goes; return the failures of those that are left out.

        Each batch is taken into the account as soon as the server has it: none is lost where a later one fails.
        """
        tried, reason = self._worth_asking(questions)
        outcomes = [self._fail(question, UNASKED, reason) for question in questions[len(tried) :]]
        limits = self._settings.batch
        lines: list[bytes] = []
        requests: list[BatchRequest] = []
        size = 0
        for number, question in enumerate(tried):
            if not self._reserve(question):
                reason = self._generator.budget.reason()
                outcomes += [self._fail(question, "budget", reason) for question in tried[number:]]
                break
            line = self._line(question, output_mode)
            if lines and (len(lines) >= limits.max_requests or size + len(line) > limits.max_bytes):
                self._send(lines, requests, output_mode)
                lines, requests, size = [], [], 0
            lines.append(line)
            size += len(line)
            record = question.record
            requests.append(
                BatchRequest(
                    line=len(lines),
                    key=question.key,
                    record_hash=record_hash(record),
                    tool_id=record.tool_id,
                    name=echo(record),
                )
            )
        if lines:
            self._send(lines, requests, output_mode)
        return outcomes

    def _worth_asking(self, questions: Sequence[Question]) -> tuple[Sequence[Question], str]:
        """Return the questions to submit, and why the others are not asked.

        A model whose latest answers could all not be used, in this build or before, is not asked about everything.
        """
        breaker, model = self._generator.breaker, self._settings.model
        if breaker.reason:
            return (), breaker.reason
        latest = () if breaker.proven else self._ledger.answers.latest_kinds(model, MAX_UNUSABLE)
        if len(latest) < MAX_UNUSABLE or not UNUSABLE.issuperset(latest):
            return questions, ""
        return questions[:MAX_UNUSABLE], (
            f"not asked: the latest {MAX_UNUSABLE} answers of {model!r} could not be used. "
            f"{MAX_UNUSABLE} questions are submitted to see whether it answers now, and a later build asks the rest. "
            "Check enrichment.model and enrichment.parameters, or build with --generator lexicon"
        )

    def _reserve(self, question: Question) -> bool:
        """Reserve a question's highest cost once, however often it is submitted. Return whether the budget has room."""
        reservations = self._generator.reservations
        if question.key not in reservations:
            reservation = self._generator.budget.reserve(self._requests.highest_cost(question, batch=True))
            if reservation is None:
                return False
            reservations[question.key] = reservation
        return True

    def _line(self, question: Question, output_mode: OutputMode) -> bytes:
        row = {
            "custom_id": question.key,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": self._requests.body(question, output_mode),
        }
        return json.dumps(row, separators=(",", ":")).encode() + b"\n"

    def _send(self, lines: Sequence[bytes], requests: Sequence[BatchRequest], output_mode: OutputMode) -> None:
        """Create a batch of some requests. The ledger knows of it first."""
        batch = Batch(uuid.uuid4().hex, int(output_mode), prompt.PROMPT_VERSION, utc_now())
        self._ledger.batches.put(self._calls.server, self._settings.model, batch, requests)
        batch = replace(batch, file_id=self._calls.upload(batch.token, b"".join(lines)))
        self._ledger.batches.mark_uploaded(batch.token, str(batch.file_id))
        try:
            batch = replace(batch, batch_id=self._calls.create(batch))
        except Unavailable:
            raise  # the server may have created it all the same
        except RunAborted:
            self._ledger.batches.mark_settled(batch.token, "not sent")
            raise
        self._ledger.batches.mark_created(batch.token, str(batch.batch_id))
        self._batches[batch] = {request.key: request for request in requests}

    def _note_progress(self, batch: ServerBatch) -> None:
        counts = batch.request_counts
        done = (counts.completed or 0) + (counts.failed or 0) if counts else 0
        share = f", {done:,} of {counts.total:,} done" if counts and counts.total else ""
        message = f"{batch.id}: {batch.status}{share}"
        if self._noted.get(batch.id) != message:
            self._generator.note(message)
        self._noted[batch.id] = message

    def _end(self, batch: Batch, server_batch: ServerBatch | None) -> Iterator[Sequence[Outcome]]:
        """Yield the outcomes of a batch that has ended, or that the server has lost (None).

        The ledger marks it as settled once they are stored: after a kill before that, the next build reads the same
        results again, at no cost. Raises RunAborted for a fault that every batch would meet.
        """
        abort_message = ""
        if server_batch is None:
            lost = Fault("server", f"the server no longer knows batch {batch.batch_id}")
            yield self._resubmit_or_fail(batch, self._open_questions(batch), lost)
        elif server_batch.status == "failed":
            outcomes, abort_message = self._failed(batch, server_batch)
            yield outcomes
        else:
            outcomes, abort_message = self._results(batch, server_batch)
            yield outcomes
            # There is room in the server's queue again.
            for output_mode, questions in self._queued_out.items():
                self._to_submit[output_mode] += questions
            self._queued_out.clear()
        if self._stop.is_set():
            return  # perhaps because the outcomes could not be stored
        self._ledger.batches.mark_settled(batch.token, server_batch.status if server_batch is not None else "lost")
        if abort_message:
            raise self._calls.unusable(abort_message)

    def _results(self, batch: Batch, server_batch: ServerBatch) -> tuple[list[Outcome], str]:
        """Return outcomes; and the server's message where every request would fail, else an empty text.

        Answers that no question asks for any more are stored here.
        """
        # Those that a build stored, and was killed before it settled the batch.
        recorded = self._ledger.batches.recorded_keys(batch.token)
        results: dict[str, BatchResult] = {}
        strays = 0
        for line in self._calls.results(server_batch):
            if line is None or line[0] not in self._batches[batch] or line[0] in results:
                strays += 1
            else:
                results[line[0]] = line[1]
        if strays:
            self._generator.note(f"{batch.batch_id}: {strays:,} lines of its results answer no question of it")
        is_answered = any(not isinstance(result, Fault) for result in results.values())
        outcomes: list[Outcome] = []
        unclaimed: list[LedgerEntry] = []
        abort_message = ""
        for key, result in results.items():
            question = self._open.get(key)
            if question is None:
                if not isinstance(result, Fault) and key not in recorded:
                    unclaimed.append(self._unclaimed_entry(batch, key, result))
            elif not isinstance(result, Fault):
                outcome = self._read(result, question)
                if key in recorded:
                    outcome = replace(outcome, usage=TokenUsage())
                self._generator.breaker.note([outcome])
                outcomes.append(self._close(question, outcome))
            elif result.kind not in ABORTING:
                outcomes += self._resubmit_or_fail(batch, [question], result)
            elif is_answered:  # then the fault is this request's own
                outcomes += self._resubmit_or_fail(batch, [question], Fault("refused", result.message))
            else:
                abort_message = result.message
        kind = "server" if server_batch.status == "completed" else "expired"
        missing = [question for question in self._open_questions(batch) if question.key not in results]
        fault = Fault(kind, f"batch {batch.batch_id} ({server_batch.status}) holds no answer")
        outcomes += self._resubmit_or_fail(batch, missing, fault)
        if unclaimed:
            self._ledger.answers.put_entries(self._ledger.latest_run(), unclaimed)
        return outcomes, abort_message

    def _failed(self, batch: Batch, server_batch: ServerBatch) -> tuple[list[Outcome], str]:
        """Return the outcomes of a batch that was never begun and costs nothing.

        The server's queue was full, lines were invalid, or every batch would fail: then return the server's message.
        """
        data = getattr(server_batch.errors, "data", None)
        errors = [error for error in data if isinstance(error, BatchError)] if isinstance(data, list) else []
        messages = [str(error.message)[:_LONGEST_MESSAGE] for error in errors[:3]]
        if not messages:
            messages = [str(server_batch.errors or "no reason is given")[:_LONGEST_MESSAGE]]
        summary = "; ".join(dict.fromkeys(messages))
        if any(error.code == _QUEUE_FULL for error in errors):
            self._queued_out[OutputMode(batch.output_mode)] += self._open_questions(batch)
            self._queue_message = summary
            return [], ""
        invalid_lines = {error.line: str(error.message)[:_LONGEST_MESSAGE] for error in errors if error.line}
        if len(invalid_lines) < len(errors) or not errors or any(error.code in _UNUSABLE_CODES for error in errors):
            return [], f"batch {batch.batch_id} failed: {summary}"
        outcomes: list[Outcome] = []
        for question in self._open_questions(batch):
            message = invalid_lines.get(self._batches[batch][question.key].line)
            fault = Fault("server", f"its batch failed: {summary}") if message is None else Fault("refused", message)
            outcomes += self._resubmit_or_fail(batch, [question], fault)
        return outcomes, ""

    def _open_questions(self, batch: Batch) -> list[Question]:
        """Return the questions in a batch that have no outcome yet."""
        return [self._open[key] for key in self._batches[batch] if key in self._open]

    def _resubmit_or_fail(self, batch: Batch, questions: Sequence[Question], fault: Fault) -> list[Outcome]:
        """Note which of these questions to submit again; return the failures of the others.

        A refused response format is met by the next output mode, a transient fault by one more batch.
        """
        output_mode = OutputMode(batch.output_mode)
        failures: list[Outcome] = []
        for question in questions:
            if fault.kind == "format" and output_mode.has_fallback:
                self._generator.output_mode = max(self._generator.output_mode, output_mode.fallback)
                self._to_submit[output_mode.fallback].append(question)
            elif fault.kind in TRANSIENT and question.key not in self._submitted_again:
                self._submitted_again.add(question.key)
                self._to_submit[output_mode].append(question)
            else:
                failures.append(self._fail(question, fault.failure_kind, fault.message))
        return failures

    def _fail(self, question: Question, kind: str, message: str) -> Outcome:
        return self._close(question, GenerationFailure(question.record.tool_id, kind, message))

    def _close(self, question: Question, outcome: Outcome) -> Outcome:
        """Close a question with its outcome, settle its money, and return the outcome."""
        self._open.pop(question.key, None)
        # A question of an earlier build was in that build's budget and has no reservation.
        if reservation := self._generator.reservations.pop(question.key, None):
            reservation.settle(outcome.usage.cost_usd)
        return outcome

    def _postpone(self) -> list[Outcome]:
        """Return a failure for each open question. Money for those in a batch stays reserved: it may be spent."""
        outcomes: list[Outcome] = []
        for batch in self._batches:
            since = f"{batch.created_at:%Y-%m-%d %H:%M} UTC"
            message = f"in batch {batch.batch_id} since {since}: a later build collects it"
            for question in self._open_questions(batch):
                outcomes.append(GenerationFailure(question.record.tool_id, "waiting", message))
                del self._open[question.key]
        message = f"not computed yet, a later build asks again, or make enrichment.batch smaller: {self._queue_message}"
        return outcomes + [self._fail(question, "waiting", message) for question in list(self._open.values())]

    def _read(self, result: Completion | Unreadable, question: Question) -> Outcome:
        """Return the outcome of a result of a question of this run, or of a stranger's that has no prompt."""
        if isinstance(result, Unreadable):
            return GenerationFailure(question.record.tool_id, result.kind, str(result))
        if question.prompt.message:
            self._requests.learn(question, result)
        return read_answer(result, question, self._requests.usage(result, batch=True))

    def _unclaimed_entry(self, batch: Batch, key: str, result: Completion | Unreadable) -> LedgerEntry:
        """Return an answer that no question asks for any more as the ledger stores it: it was paid for."""
        request = self._batches[batch][key]
        # The record may be gone: reading the answer takes no more than its name.
        outcome = self._read(result, Question(request.key, ToolRecord(request.tool_id, None, request.name, "")))
        self._generator.unclaimed += outcome.usage
        return ledger_entry(
            outcome,
            key=request.key,
            record_hash=request.record_hash,
            generator=self._generator.name,
            model=self._settings.model,
            prompt_version=batch.prompt_version,
        )
