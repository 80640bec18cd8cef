"""The generator that uses the Batch API: questions are answered within a day, at a share of the price.

A batch is in the ledger before it is submitted and until its answers are stored: a build that ends or is killed leaves
its batches to the next.
"""

import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from threading import Event
from typing import Any

from openai.types import Batch as ServerBatch

from pipeline.enrichment import prompt
from pipeline.enrichment.ask import ledger_entry
from pipeline.enrichment.generator import NEVER, UNASKED, UNUSABLE, GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.known_answers import as_stored, known_answers
from pipeline.enrichment.openai.answers import OutputMode, read_answer
from pipeline.enrichment.openai.batch_calls import END_STATUSES, BatchCalls
from pipeline.enrichment.openai.chat import ABORTING, TRANSIENT, Completion, Fault
from pipeline.enrichment.openai.model import CHECK_MODEL, MAX_UNUSABLE, ModelGenerator
from pipeline.enrichment.prompt import echo
from pipeline.errors import RunAborted, Unavailable
from pipeline.ledger import Batch, BatchRequest, Ledger
from pipeline.ledger.database import utc_now
from pipeline.records import record_hash
from pipeline.settings import EnrichmentSettings
from router.record import ToolRecord


class BatchGenerator(ModelGenerator):
    """Asks a chat model about all tools at once. Questions that stay unanswered while the build waits are postponed.

    `reserved_usd` holds the reserved money of open questions by key, `waited_s` how long the build has waited.
    """

    def __init__(self, settings: EnrichmentSettings, ledger: Ledger, note: Callable[[str], None] = lambda _: None):
        """Send nothing yet. `note` is called with the state of a batch whenever it changes."""
        super().__init__(settings)
        self.ledger = ledger
        self.note = note
        self.reserved_usd: dict[str, float] = {}
        self.waited_s = 0.0

    def generate(self, questions: Sequence[Question], stop: Event = NEVER) -> Iterator[Sequence[Outcome]]:
        """Yield outcomes in groups, batch by batch. A question that an earlier batch holds is not asked again.

        Answers that no question asks for any more are stored in the ledger and counted in `unclaimed`. Raises
        RunAborted where no batch can be created or computed, Unavailable where the server does not answer. Once `stop`
        is set, the batches stay open.
        """
        if not questions:
            return
        with closing(BatchCalls(self.settings, stop)) as calls:
            yield from filter(None, _Session(self, calls, questions).groups())


class _Session:
    """One run over some questions: submits those that no batch holds, and collects the answers to all of them."""

    def __init__(self, generator: BatchGenerator, calls: BatchCalls, questions: Sequence[Question]) -> None:
        self._generator, self._calls = generator, calls
        self._table, self._limits = generator.ledger.batches, generator.settings.batch
        self._open = {question.key: question for question in questions}
        self._batches: dict[Batch, dict[str, BatchRequest]] = {}  # that the server has, their requests by key
        self._to_submit: defaultdict[OutputMode, list[Question]] = defaultdict(list)
        self._submitted_again: set[str] = set()
        self._queued_out: defaultdict[OutputMode, list[Question]] = defaultdict(list)  # the server's queue was full
        self._queue_message = ""
        self._noted: dict[str, str] = {}
        self._failed_looks: Counter[Batch] = Counter()  # in a row

    def groups(self) -> Iterator[Sequence[Outcome]]:
        """Yield outcomes, some groups empty, until every question has one."""
        self._take_over()
        submitted = {key for requests in self._batches.values() for key in requests}
        new = [question for key, question in self._open.items() if key not in submitted]
        self._to_submit[self._generator.output_mode] += new
        while True:
            to_submit, self._to_submit = self._to_submit, defaultdict(list)
            for output_mode, questions in to_submit.items():
                yield self._submit(questions, output_mode)
            for batch in list(self._batches):
                try:
                    server_batch = self._calls.look(batch)
                except Unavailable:  # the server goes on computing: the next look may be answered
                    self._failed_looks[batch] += 1
                    if self._failed_looks[batch] > self._generator.settings.max_retries:
                        raise
                    continue
                del self._failed_looks[batch]
                if server_batch is not None and server_batch.status not in END_STATUSES:
                    self._note_progress(server_batch)
                    continue
                yield from self._end(batch, server_batch)
                if self._calls.stop.is_set():
                    return
            if self._to_submit:
                continue
            pause_s = min(self._limits.poll_s, self._limits.wait_s - self._generator.waited_s)
            if pause_s <= 0 or not any(self._queued_out or self._open_questions(batch) for batch in self._batches):
                break
            self._calls.sleep(pause_s)
            self._generator.waited_s += pause_s
        yield self._postpone()

    def _open_questions(self, batch: Batch) -> list[Question]:
        return [self._open[key] for key in self._batches[batch] if key in self._open]

    def _take_over(self) -> None:
        """Take over the open batches of earlier builds, and of earlier stages of this one."""
        for batch in self._table.unsettled(self._calls.server, self._generator.model):
            batch_id = batch.batch_id or self._calls.find_unconfirmed(batch)
            if batch_id is None:
                self._table.mark_settled(batch.token, "not sent")
                continue
            if batch.batch_id is None:
                self._table.mark_created(batch.token, batch_id)
            requests = self._table.requests(batch.token)
            self._batches[replace(batch, batch_id=batch_id)] = {request.key: request for request in requests}

    def _submit(self, questions: Sequence[Question], output_mode: OutputMode) -> list[Outcome]:
        """Submit questions as far as the budget goes; return the failures of those that are left out."""
        budget, reserved_usd = self._generator.budget, self._generator.reserved_usd
        tried, reason = self._worth_asking(questions)
        outcomes = [self._fail(question, UNASKED, reason) for question in questions[len(tried) :]]
        lines: list[bytes] = []
        requests: list[BatchRequest] = []
        size = 0
        for number, question in enumerate(tried):
            if question.key not in reserved_usd:  # reserved once, however often it is submitted
                cost_usd = self._generator.highest_cost(question, batch=True)
                if not budget.reserve(cost_usd):
                    outcomes += [self._fail(question, "budget", budget.reason()) for question in tried[number:]]
                    break
                reserved_usd[question.key] = cost_usd
            body = self._generator.body(question, output_mode)
            row = {"custom_id": question.key, "method": "POST", "url": "/v1/chat/completions", "body": body}
            line = json.dumps(row, separators=(",", ":")).encode() + b"\n"
            if lines and (len(lines) >= self._limits.max_requests or size + len(line) > self._limits.max_bytes):
                self._send(lines, requests, output_mode)
                lines, requests, size = [], [], 0
            lines.append(line)
            size += len(line)
            record = question.record
            requests.append(BatchRequest(len(lines), question.key, record_hash(record), record.tool_id, echo(record)))
        if lines:
            self._send(lines, requests, output_mode)
        return outcomes

    def _worth_asking(self, questions: Sequence[Question]) -> tuple[Sequence[Question], str]:
        """Return the questions to submit, few where the model's latest answers were of no use, and why not the rest."""
        generator = self._generator
        if generator.given_up:
            return (), generator.given_up
        latest = () if generator.proven else generator.ledger.answers.latest_kinds(generator.model, MAX_UNUSABLE)
        if len(latest) < MAX_UNUSABLE or not {*UNUSABLE, "rejected"}.issuperset(latest):
            return questions, ""
        return questions[:MAX_UNUSABLE], (
            f"not asked: the latest {MAX_UNUSABLE} answers of {generator.model!r} could not be used. "
            f"{MAX_UNUSABLE} questions are submitted to see whether it answers now, and a later build asks the rest. "
            f"{CHECK_MODEL}"
        )

    def _send(self, lines: Sequence[bytes], requests: Sequence[BatchRequest], output_mode: OutputMode) -> None:
        """Create a batch of some requests. The ledger knows of it first."""
        batch = Batch(uuid.uuid4().hex, int(output_mode), prompt.PROMPT_VERSION, utc_now())
        self._table.put(self._calls.server, self._generator.model, batch, requests)
        batch = replace(batch, file_id=self._calls.upload(batch.token, b"".join(lines)))
        self._table.mark_uploaded(batch.token, str(batch.file_id))
        try:
            batch = replace(batch, batch_id=self._calls.create(batch))
        except Unavailable:
            raise  # the server may have created it all the same
        except RunAborted:
            self._table.mark_settled(batch.token, "not sent")
            raise
        self._table.mark_created(batch.token, str(batch.batch_id))
        self._batches[batch] = {request.key: request for request in requests}

    def _note_progress(self, batch: ServerBatch) -> None:
        counts = batch.request_counts
        message = f"{batch.id}: {batch.status}"
        if counts and counts.total:
            message += f", {(counts.completed or 0) + (counts.failed or 0):,} of {counts.total:,} done"
        if self._noted.get(batch.id) != message:
            self._generator.note(message)
        self._noted[batch.id] = message

    def _end(self, batch: Batch, server_batch: ServerBatch | None) -> Iterator[Sequence[Outcome]]:
        """Yield the outcomes of a batch that has ended, or that the server has lost (None).

        The ledger marks it as settled once they are stored: after a kill before that, the next build reads the same
        results again, at no cost. Raises RunAborted for a fault that every batch would meet.
        """
        status = server_batch.status if server_batch is not None else "lost"
        if status not in ("lost", "failed"):  # there is room in the server's queue again
            for output_mode, questions in self._queued_out.items():
                self._to_submit[output_mode] += questions
            self._queued_out.clear()
        results, strays = self._calls.results(batch, server_batch, self._batches[batch])
        if strays:
            self._generator.note(f"{batch.batch_id}: {strays:,} lines of its results answer no question of it")
        is_answered = any(isinstance(result, Completion) for result in results.values())
        # Those that a build stored, and was killed before it settled the batch.
        recorded = self._table.recorded_keys(batch.token)
        outcomes: list[Outcome] = []
        unclaimed: dict[str, Completion] = {}
        abort_message = ""
        for key, result in results.items():
            question = self._open.get(key)
            if isinstance(result, Completion):
                if question is not None:
                    outcome = self._read(result, question)
                    if key in recorded:
                        outcome = replace(outcome, usage=TokenUsage())
                    outcomes.append(self._close(question, outcome))
                elif key not in recorded:
                    unclaimed[key] = result
            elif question is not None and result.kind not in ABORTING:
                outcomes += self._resubmit_or_fail(batch, question, result)
            elif question is not None and is_answered:  # then the fault is this request's own
                outcomes.append(self._fail(question, "refused", result.message))
            elif question is not None:
                abort_message = result.message
        if unclaimed:
            entries = self._unclaimed_entries(batch, unclaimed)
            self._generator.ledger.answers.put_entries(self._generator.ledger.latest_run(), list(entries))
        yield outcomes
        if self._calls.stop.is_set():
            return  # perhaps because the outcomes could not be stored
        self._table.mark_settled(batch.token, status)
        del self._batches[batch]
        if abort_message:
            raise self._calls.unusable(abort_message)

    def _resubmit_or_fail(self, batch: Batch, question: Question, fault: Fault) -> Iterator[Outcome]:
        """Note that a question is to be submitted again, or yield its failure."""
        output_mode = OutputMode(batch.output_mode)
        if fault.kind == "queue":  # it waits for another batch to end
            self._queued_out[output_mode].append(question)
            self._queue_message = fault.message
        elif fault.kind == "format" and output_mode != output_mode.fallback:
            self._generator.output_mode = max(self._generator.output_mode, output_mode.fallback)
            self._to_submit[output_mode.fallback].append(question)
        elif fault.kind in TRANSIENT and question.key not in self._submitted_again:
            self._submitted_again.add(question.key)
            self._to_submit[output_mode].append(question)
        else:
            yield self._fail(question, fault.failure_kind, fault.message)

    def _fail(self, question: Question, kind: str, message: str) -> Outcome:
        return self._close(question, GenerationFailure(question.record.tool_id, kind, message))

    def _close(self, question: Question, outcome: Outcome) -> Outcome:
        """Close a question with its outcome, settle its money, and return the outcome."""
        self._open.pop(question.key, None)
        self._generator.count(outcome)
        # A question of an earlier build was in that build's budget and has no reservation.
        if (reserved_usd := self._generator.reserved_usd.pop(question.key, None)) is not None:
            self._generator.budget.settle(reserved_usd, outcome.usage.cost_usd)
        return outcome

    def _postpone(self) -> list[Outcome]:
        """Return a failure for each open question. Money for those in a batch stays reserved: it may be spent."""
        outcomes: list[Outcome] = []
        for batch in self._batches:
            message = (
                f"in batch {batch.batch_id} since {batch.created_at:%Y-%m-%d %H:%M} UTC: a later build collects it"
            )
            for question in self._open_questions(batch):
                outcomes.append(GenerationFailure(question.record.tool_id, "waiting", message))
                del self._open[question.key]
        message = f"not computed yet, a later build asks again, or make enrichment.batch smaller: {self._queue_message}"
        return outcomes + [self._fail(question, "waiting", message) for question in list(self._open.values())]

    def _read(self, completion: Completion, question: Question) -> Outcome:
        return read_answer(completion, question, self._generator.usage(completion, question, batch=True))

    def _unclaimed_entries(self, batch: Batch, results: Mapping[str, Completion]) -> Iterator[Mapping[str, Any]]:
        """Yield answers that no question asks for any more as the ledger stores them: they were paid for."""
        requests = [self._batches[batch][key] for key in results]
        # The record may be gone: reading the answer takes no more than its name.
        about = {one.key: Question(one.key, ToolRecord(one.tool_id, None, one.name, "")) for one in requests}
        known = known_answers(self._generator.ledger, self._generator, as_stored(self._generator.ledger, about), "")
        for one in requests:
            outcome = self._read(results[one.key], about[one.key])
            if isinstance(outcome, GenerationFailure) and one.key in known:  # it may hold added languages alone
                outcome = self._read(results[one.key], replace(about[one.key], known=known[one.key].answer))
            self._generator.unclaimed += outcome.usage
            keys = {"key": one.key, "record_hash": one.record_hash}
            yield ledger_entry(outcome, self._generator, **keys, prompt_version=batch.prompt_version)
