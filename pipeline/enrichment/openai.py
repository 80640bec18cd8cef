"""An OpenAI-compatible model: OpenAI itself, vLLM, Ollama, llama.cpp, any base URL."""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import openai
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from pydantic import BaseModel, ConfigDict

from pipeline.enrichment.expansion import Expansion
from pipeline.enrichment.generator import Answer, Failure, Usage
from pipeline.enrichment.prompt import INSTRUCTIONS, tool_message
from pipeline.errors import RunAborted, SettingsInvalid, Unavailable
from pipeline.settings import EnrichmentSettings
from pipeline.sources.document import parse_json
from router.record import ToolRecord


class _Answer(BaseModel):
    """The structured output asked for."""

    model_config = ConfigDict(extra="forbid")

    when_to_use: str
    user_phrases: list[str]
    synonyms: list[str]
    related_concepts: list[str]
    task_categories: list[str]


_SCHEMA = {"name": "expansion", "strict": True, "schema": _Answer.model_json_schema()}
# Compatible servers take these to different degrees: on a 400 that names the format, the next is tried, for good.
_FORMATS: tuple[dict[str, Any] | None, ...] = (
    {"type": "json_schema", "json_schema": _SCHEMA},
    {"type": "json_object"},
    None,
)
_FORMAT_REFUSED = re.compile(r"response_format|json_schema|json_object|structured|guided", re.IGNORECASE)
_PLAIN_TEXT = "\n\nAnswer with one JSON object that has exactly these five keys, and nothing else."
# Errors that every other request would meet too.
_FATAL = (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError)


class OpenAIGenerator:
    """Asks a chat model for each tool, several at a time; retries, then reports a failure, tool by tool."""

    name = "openai"
    commit_every = 1

    def __init__(self, settings: EnrichmentSettings) -> None:
        """Nothing is sent before the first record. Raises SettingsInvalid on a key that cannot be sent."""
        self.model = settings.model
        self._settings = settings
        self._format = 0
        # Local servers need no key, yet the client refuses to start without one.
        key = (settings.api_key.get_secret_value().strip() if settings.api_key else "") or "local"
        if not (key.isascii() and key.isprintable()):
            # The HTTP client would refuse the header too, and put the key into its message.
            raise SettingsInvalid("enrichment.api_key (OPENAI_API_KEY) holds a character that no HTTP header can carry")
        self._client = openai.OpenAI(
            api_key=key, base_url=settings.base_url, timeout=settings.timeout_s, max_retries=settings.max_retries
        )

    @property
    def _address(self) -> str:
        """The server, without what may be a secret: messages are stored, logged and published."""
        return re.sub(r"//[^/@]*@", "//", str(self._client.base_url))

    def key(self, record: ToolRecord) -> dict[str, Any]:
        """The sampling parameters; the model's name and the prompt's version are in the key already."""
        return dict(self._settings.parameters)

    def generate(self, records: Sequence[ToolRecord]) -> Iterator[Answer | Failure]:
        """Answers as they come, so that none waits, unkept, behind a slow one.

        Raises RunAborted on a bad key, an unknown model, a spent quota or no server at all, and whatever interrupts it,
        after the answers to what was in flight.
        """
        answered = False
        aborted: BaseException | None = None
        pool = ThreadPoolExecutor(self._settings.concurrency)
        try:
            left = {pool.submit(self._ask, record) for record in records}
            done = as_completed(set(left))
            while left:
                try:
                    future = next(done)
                except BaseException as error:  # a time-out, Ctrl-C: what is in flight is paid for
                    if aborted is not None:
                        raise
                    aborted = error
                    left = {future for future in left if not future.cancel()}
                    done = as_completed(set(left))
                    continue
                left.discard(future)
                if future.cancelled():
                    continue
                try:
                    outcome = future.result()
                    if isinstance(outcome, Failure) and outcome.kind == "connection" and not answered:
                        raise Unavailable(
                            f"no answer from {self._address}: {outcome.message}. "
                            "Check enrichment.base_url, or build with --generator lexicon"
                        )
                except RunAborted as error:
                    aborted = aborted or error
                    for waiting in left:
                        waiting.cancel()
                    continue
                answered = True
                yield outcome
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        if aborted is not None:
            raise aborted

    def _ask(self, record: ToolRecord) -> Answer | Failure:
        usage = Usage()
        try:
            while True:
                rung = self._format
                try:
                    completion = self._complete(record, _FORMATS[rung])
                    break
                except openai.BadRequestError as error:
                    if rung == len(_FORMATS) - 1 or not _FORMAT_REFUSED.search(str(error)):
                        return Failure(record.tool_id, "refused", str(error))
                    self._format = max(self._format, rung + 1)
            usage = self._usage(getattr(completion, "usage", None))
            choice = _choice(completion)
            if choice.message.refusal:
                return Failure(record.tool_id, "refusal", str(choice.message.refusal), usage)
            if choice.finish_reason == "length":
                return Failure(record.tool_id, "truncated", "the answer was cut at the model's length limit", usage)
            return Answer(record.tool_id, Expansion.from_json(_parse(choice.message.content or "")), usage)
        except _FATAL as error:
            raise self._unusable(error) from error
        except openai.RateLimitError as error:
            if error.code == "insufficient_quota":
                raise self._unusable(error) from error
            return Failure(record.tool_id, "server", str(error))
        except openai.APITimeoutError:
            return Failure(record.tool_id, "timeout", f"no answer within {self._settings.timeout_s:g} s")
        except openai.APIConnectionError as error:
            return Failure(record.tool_id, "connection", str(error.__cause__ or error))
        except openai.APIError as error:
            return Failure(record.tool_id, "server", str(error))
        except (ValueError, RecursionError) as error:
            return Failure(record.tool_id, "shape", str(error), usage)

    def _unusable(self, error: openai.APIError) -> RunAborted:
        return RunAborted(
            f"the model {self.model!r} at {self._address} cannot be used: {error}. "
            "Check OPENAI_API_KEY, its quota and enrichment.model, or build with --generator lexicon"
        )

    def _complete(self, record: ToolRecord, response_format: dict[str, Any] | None) -> Any:
        extra: dict[str, Any] = {} if response_format is None else {"response_format": response_format}
        instructions = INSTRUCTIONS if response_format == _FORMATS[0] else INSTRUCTIONS + _PLAIN_TEXT
        return self._client.chat.completions.create(
            model=self.model,
            messages=[
                {"role": "system", "content": instructions},
                {"role": "user", "content": tool_message(record)},
            ],
            **extra,
            # Not as arguments: the client raises TypeError on any that OpenAI itself does not take (top_k, min_p).
            extra_body=self._settings.parameters,
        )

    def _usage(self, usage: Any) -> Usage:
        prompt, completion = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
        if not isinstance(prompt, int) or not isinstance(completion, int):
            return Usage(cost_usd=None)
        cached = getattr(usage.prompt_tokens_details, "cached_tokens", None) or 0
        price = self._settings.prices.get(self.model)
        cost = None
        if price is not None:
            cost = ((prompt - cached) * price.input + cached * price.cached + completion * price.output) / 1e6
        return Usage(prompt, cached, completion, cost)


def _choice(completion: Any) -> Any:
    """The first choice. The client checks no answer: what a compatible server says with a 200 may be an error or HTML.

    Raises ValueError where it holds no message.
    """
    choices = getattr(completion, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(getattr(choice, "message", None), ChatCompletionMessage):
        shown = completion.to_dict() if isinstance(completion, ChatCompletion) else completion
        raise ValueError(f"the server's answer holds no message: {str(shown)[:200]}")
    return choice


def _parse(text: Any) -> Any:
    """The JSON object of an answer, inside a code fence or prose if need be. Raises ValueError where there is none."""
    if not isinstance(text, str):
        raise ValueError("the answer is not a text")
    try:
        return parse_json(text)
    except ValueError:
        start, end = text.find("{"), text.rfind("}")
        if start < 0 or end < start:
            raise ValueError("the answer holds no JSON object") from None
        return parse_json(text[start : end + 1])
