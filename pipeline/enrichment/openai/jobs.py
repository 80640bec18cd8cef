"""A server's Batch API: files handed in, batches looked at, results read. What may pass is tried again, in bounds."""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, TypeVar

import httpx2
import openai
from openai.types import Batch

from pipeline.enrichment.openai.client import Fault, address, fault, unusable
from pipeline.enrichment.openai.results import Result, read_line
from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import EnrichmentSettings

T = TypeVar("T")

ENDS = ("completed", "failed", "expired", "cancelled")
_PASSING = ("timeout", "connection", "rate", "server")
_TOKEN = "quartermaster"  # noqa: S105 - the name of our mark in a batch's metadata
_PAGE = 100
_PAGES = 100  # of batches that are looked through for ours: 10,000 are more than an account makes in a day
_LONGEST_BACKOFF_S = 30.0
# A server that asks for more patience than this means another night.
_LONGEST_WAIT_S = 120.0
_TICK_S = 0.2  # a wait in C hears no interruption of another thread


class _Gone(Exception):
    """The server does not know this batch or file."""


class Jobs:
    """The batches of one server. Every method raises RunAborted where the server cannot be used, Unavailable where it
    does not answer; what was handed in stays there."""

    def __init__(self, settings: EnrichmentSettings, client: openai.OpenAI) -> None:
        self._settings = settings
        self._client = client

    @property
    def server(self) -> str:
        """The server's name in the ledger."""
        return address(self._client)

    def upload(self, token: str, file: IO[bytes]) -> str:
        """Hand in a file of requests; its id. Nothing is computed before `create`."""

        def send() -> str:
            file.seek(0)
            kept = self._client.files.create(file=(f"{_TOKEN}-{token}.jsonl", file), purpose="batch")
            return _id(kept)

        return self._done(partial(self._try, send))

    def create(self, token: str, file_id: str) -> str:
        """Have the requests of a file computed; the batch's id. An answer that got lost is looked for before the batch
        is asked for again: it would be paid for twice."""
        return self._done(
            partial(self._try, partial(self._create, token, file_id), partial(self._find, token, file_id))
        )

    def find(self, token: str, file_id: str | None) -> str | None:
        """The id of a batch that may have been made of this file; None where the server has none."""
        return self._done(partial(self._find, token, file_id))

    def look(self, batch_id: str, token: str, file_id: str | None) -> Batch | None:
        """How a batch stands; None where the server has lost it."""

        def retrieve() -> Batch:
            try:
                return _batch(self._client.batches.retrieve(batch_id))
            except openai.NotFoundError as error:
                raise _Gone from error

        try:
            return self._done(partial(self._try, retrieve, least_s=self._settings.batch.poll_s))
        except _Gone:
            # A key of another project, or a wrong address, would say the same: the list tells.
            found = self.find(token, file_id)
            return None if found is None else self._done(partial(self._try, retrieve))

    def results(self, batch: Batch) -> Iterator[tuple[str, Result] | None]:
        """The lines of a batch's results, then of its errors, in no order; None for a line that cannot be read."""
        for file_id in (batch.output_file_id, batch.error_file_id):
            if not file_id:
                continue
            with tempfile.TemporaryFile() as file:
                try:
                    self._done(partial(self._try, partial(self._download, file_id, file)))
                except _Gone:
                    continue  # what it held cannot be had any more
                file.seek(0)
                yield from (read_line(line) for line in file if line.strip())

    def unusable(self, message: str) -> RunAborted:
        """What every batch would meet, with the way out."""
        return unusable(self._settings.model, self._client, message)

    def _create(self, token: str, file_id: str) -> str:
        try:
            made = self._client.batches.create(
                input_file_id=file_id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_TOKEN: token},
            )
        except openai.BadRequestError as error:
            if "find file" in str(error):  # "Cannot find file": one that was just handed in may take a moment
                raise Fault("server", str(error)) from error
            raise
        return _id(made)

    def _find(self, token: str, file_id: str | None) -> str | None:
        after: str | openai.Omit = openai.omit
        for _ in range(_PAGES):
            page = self._try(partial(self._client.batches.list, limit=_PAGE, after=after))
            batches = [_batch(batch) for batch in page.data or ()]
            for batch in batches:
                # Not every compatible server keeps metadata.
                marks = batch.metadata if isinstance(batch.metadata, dict) else {}
                if marks.get(_TOKEN) == token or (file_id and batch.input_file_id == file_id):
                    return batch.id
            if not batches or not page.has_more:
                return None
            after = batches[-1].id
        return None

    def _download(self, file_id: str, file: IO[bytes]) -> None:
        file.seek(0)
        file.truncate()
        try:
            with self._client.files.with_streaming_response.content(file_id) as response:
                for chunk in response.iter_bytes():
                    file.write(chunk)
        except openai.NotFoundError as error:
            raise _Gone from error

    def _try(self, call: Callable[[], T], instead: Callable[[], T | None] | None = None, least_s: float = 0.0) -> T:
        """Call until it works. `instead` is asked before every retry, and what it finds is taken. Raises Fault."""
        faults = 0
        while True:
            try:
                return call()
            except openai.APIError as error:
                met = fault(error, self._settings.timeout_s)
            except httpx2.HTTPError as error:  # in the middle of a file
                met = Fault("connection", str(error) or type(error).__name__)
            except Fault as error:
                met = error
            faults += 1
            asked_s = met.retry_after_s or 0.0
            if met.kind not in _PASSING or faults > self._settings.max_retries or asked_s > _LONGEST_WAIT_S:
                raise met
            backoff = min(self._settings.retry_delay_s * 2 ** (faults - 1), _LONGEST_BACKOFF_S)
            sleep(max(asked_s or backoff, least_s))
            found = instead() if instead else None
            if found is not None:
                return found

    def _done(self, call: Callable[[], T]) -> T:
        """Call, and say what a fault means for the build."""
        try:
            return call()
        except Fault as met:
            if met.kind in _PASSING:
                raise Unavailable(
                    f"no answer from {self.server}: {met.message}. Batches that were submitted stay there, and a later "
                    "build collects them. Check enrichment.base_url, or build with --generator lexicon"
                ) from met
            raise self.unusable(met.message) from met


def sleep(seconds: float) -> None:
    """Wait, and hear an interruption at once."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, _TICK_S))


def _id(made: object) -> str:
    """The id of what the server made. The client checks no answer: Fault where it is none."""
    found = getattr(made, "id", None)
    if not isinstance(found, str) or not found:
        raise Fault("server", f"the answer holds no id: {str(made)[:200]}")
    return found


def _batch(made: object) -> Batch:
    _id(made)
    if not isinstance(made, Batch) or not isinstance(made.status, str):
        raise Fault("server", f"the answer is not a batch: {str(made)[:200]}")
    return made
