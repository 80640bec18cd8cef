"""One chat request to an OpenAI-compatible server, and the completion that it answers."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import openai
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from pipeline.enrichment.openai.faults import Fault, fault_of
from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.settings import EnrichmentSettings


@dataclass(frozen=True, slots=True)
class Completion:
    """A server's answer: the message's text or its refusal, why it ended, tokens, the response's headers.

    `prompt_tokens` and `completion_tokens` are None where the server did not count.
    """

    content: object
    refusal: str | None
    finish_reason: str | None
    prompt_tokens: int | None
    cached_tokens: int
    completion_tokens: int | None
    headers: Mapping[str, str]


def connection(settings: EnrichmentSettings) -> dict[str, Any]:
    """Return the arguments of OpenAI's clients. Raises SettingsInvalid on a key that cannot be sent."""
    # Local servers need no key, yet the client refuses to start without one.
    key = (settings.api_key.get_secret_value().strip() if settings.api_key else "") or "local"
    if not (key.isascii() and key.isprintable()):
        # The HTTP client would refuse the header too, and put the key into its message.
        raise SettingsInvalid("enrichment.api_key (OPENAI_API_KEY) holds a character that an HTTP header cannot carry")
    return {"api_key": key, "base_url": settings.base_url, "timeout": settings.timeout_s}


def address(client: openai.OpenAI | openai.AsyncOpenAI) -> str:
    """Return the server's address without user and password: messages are stored, logged and published."""
    return re.sub(r"//[^/@]*@", "//", str(client.base_url))


def unusable(model: str, client: openai.OpenAI | openai.AsyncOpenAI, message: str) -> RunAborted:
    """Return the error for a fault that every request would meet, with the way out."""
    return RunAborted(
        f"the model {model!r} at {address(client)} cannot be used: {message.rstrip('.')}. "
        "Check OPENAI_API_KEY, its quota and enrichment.model, or build with --generator lexicon"
    )


async def complete(client: openai.AsyncOpenAI, body: Mapping[str, Any], timeout_s: float) -> Completion:
    """Send one chat request, whose JSON is `body`. Raises Fault, or ValueError where a 200 holds no completion."""
    try:
        # The client's own time-out is for each read: an answer that drips would never end.
        async with asyncio.timeout(timeout_s):
            # The body goes as it is. The client raises TypeError for arguments that OpenAI itself does not take (top_k,
            # min_p), and it walks the others key by key, which takes a third of a request's time on this side.
            response = await client.chat.completions.with_raw_response.create(
                model=body["model"], messages=(), extra_body=dict(body)
            )
        return read_completion(response.parse(), response.headers)
    except TimeoutError as error:
        raise Fault("timeout", f"no answer within {timeout_s:g} s", billed=True) from error
    except openai.APIError as error:
        raise fault_of(error, timeout_s) from error


def read_completion(completion: Any, headers: Mapping[str, str]) -> Completion:
    """Return a completion that the client has parsed. Raises ValueError where it holds no message.

    The client validates nothing: a compatible server may send an error or HTML with a 200.
    """
    choices = getattr(completion, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(choice, "message", None)
    if not isinstance(message, ChatCompletionMessage):
        shown = completion.to_dict(warnings=False) if isinstance(completion, ChatCompletion) else completion
        raise ValueError(f"the server's answer holds no message: {str(shown)[:200]}")
    usage = getattr(completion, "usage", None)
    prompt, completed = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    counted = isinstance(prompt, int) and isinstance(completed, int)
    details = getattr(usage, "prompt_tokens_details", None)
    return Completion(
        content=message.content,
        refusal=str(message.refusal) if message.refusal else None,
        finish_reason=getattr(choice, "finish_reason", None),
        prompt_tokens=prompt if counted else None,
        cached_tokens=(getattr(details, "cached_tokens", None) or 0) if counted else 0,
        completion_tokens=completed if counted else None,
        headers=headers,
    )
