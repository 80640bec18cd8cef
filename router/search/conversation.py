"""Searches with several messages of a dialogue: their results are summed, the latest weighted most.

    score(d) = latest(d) + Σ over earlier messages w^age × ranking(message, d)

Each message is ranked by itself; z-scores of different messages are comparable, and so are the ranks that they
weigh. A complete message has high scores and decides by itself. An incomplete one ("the same for Bob", "yes,
please") has low scores, so earlier ones decide.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from router.errors import RequestInvalid, quoted
from router.query.steps import Steps
from router.retrieval.recipe import Recipe
from router.retrieval.retrievers import EncodedQuery, Ranking
from router.retrieval.step_fusion import StepCoverage
from router.search.search import SearchResult, encode
from router.snapshot.snapshot import Snapshot
from router.text import ENGLISH
from router.tools.foreign_text import request_language

_MAX_MESSAGES = 4  # each costs as much as a request
# Weight of a message relative to the one after it. See docs/decisions/answers.md.
_DECAY = 0.6
# What a follow-up has at most: terms, and terms × (1 - cosine). See docs/decisions/answers.md.
_MAX_TERMS = 4
_MAX_ADDED = 0.5
_SPEAKER = "user"

Message = str | Mapping[str, object]


class UserMessages(msgspec.Struct, frozen=True):
    """The user's messages that count: the latest, and `earlier` ones, the most recent first."""

    latest: str
    earlier: tuple[str, ...] = ()


def user_messages(request: str | Sequence[Message]) -> UserMessages:
    """Return the last four messages of the user, from one text or from a dialogue, oldest first.

    A message is a text, or a mapping with `content` and a `role`, as chat APIs take them. `content` is a text or a
    list of parts; parts that are texts, or have a `text`, count. Raises RequestInvalid, naming the message's index, for
    anything else, and where no message has text of the user.
    """
    if isinstance(request, str):
        return UserMessages(request)
    if not isinstance(request, Sequence) or isinstance(request, bytes | bytearray):
        raise RequestInvalid(f"the request is {quoted(request)}, it must be a text or a list of messages")
    texts = [text for place, message in enumerate(request) if (text := _text(place, message)).strip()]
    if not texts:
        raise RequestInvalid(f"no message of {len(request)} holds text of the user: say what should be done")
    *earlier, latest = texts[-_MAX_MESSAGES:]
    return UserMessages(latest, tuple(reversed(earlier)))


def _text(place: int, message: Message) -> str:
    """Return the text of a user's message; "" for a message of anyone else. `place` is its index in the dialogue."""
    if isinstance(message, str):
        return message
    if not isinstance(message, Mapping):
        raise RequestInvalid(f"messages[{place}] is {quoted(message)}, it must be a text, or have a role and a content")
    if message.get("role", _SPEAKER) != _SPEAKER:
        return ""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise RequestInvalid(f"messages[{place}].content is {quoted(content)}, it must be a text or a list of parts")
    parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    return "\n".join(part for part in parts if isinstance(part, str))


def combine_messages(latest: SearchResult, earlier: Sequence[SearchResult]) -> SearchResult:
    """Return the latest message's result with the scores of earlier ones, the most recent first, added.

    No result may have its duplicates collapsed yet. An earlier message's part of a tool's score counts as its gain; the
    message becomes the tool's step where its part is the largest.
    """
    if not earlier:
        return latest
    rankings = [latest.ranking, *(result.ranking for result in earlier)]
    ordinals = np.unique(np.concatenate([ranking.ordinals for ranking in rankings]))
    scores = np.full(len(ordinals), min(0.0, float(latest.ranking.scores.min(initial=0.0))))
    scores[np.searchsorted(ordinals, latest.ranking.ordinals)] = latest.ranking.scores
    gains, steps, largest = np.zeros(len(ordinals)), np.full(len(ordinals), -1), np.zeros(len(ordinals))
    if latest.covered is not None:
        rows = np.searchsorted(ordinals, latest.covered.ranking.ordinals)
        gains[rows], steps[rows] = latest.covered.gains, latest.covered.steps
        largest[:] = gains
    for age, result in enumerate(earlier, start=1):
        rows = np.searchsorted(ordinals, result.ranking.ordinals)
        parts = _DECAY**age * np.maximum(result.ranking.scores, 0.0)
        scores[rows] += parts
        gains[rows] += parts
        steps[rows[parts > largest[rows]]] = len(latest.steps) + age - 1
        largest[rows] = np.maximum(largest[rows], parts)
    order = np.lexsort((ordinals, -scores))
    ranking = Ranking(ordinals[order], scores[order])
    return replace(
        latest,
        query=_combined_query([latest.query, *(result.query for result in earlier)]),
        covered=StepCoverage(ranking, gains[order], steps[order]),
        ranking=ranking,
        steps=_steps_with_messages(latest, [result.query.text for result in earlier]),
    )


def _steps_with_messages(latest: SearchResult, texts: Sequence[str]) -> Steps:
    """Return the latest message's steps, followed by the texts of earlier messages with their weights."""
    weights = (*latest.steps.weights, *(_DECAY**age for age in range(1, len(texts) + 1)))
    share = latest.steps.share if latest.covered is not None else 1.0
    return Steps((*latest.steps.texts, *texts), weights, share)


def _combined_query(messages: Sequence[EncodedQuery]) -> EncodedQuery:
    """Return a dialogue, the latest message first, as one query: its texts joined, its adapted vectors averaged.

    Thresholds and a reranker compare tools with it: "and the same for Bob" is not enough.
    """
    text = "\n".join(message.text for message in messages)  # the latest first: rerankers truncate the end
    vectors = [message.adapted_vector for message in messages]
    weighted = [_DECAY**age * vector for age, vector in enumerate(vectors) if vector is not None]
    if not weighted:
        return replace(messages[0], text=text)
    total = np.sum(weighted, axis=0)
    unit: NDArray[np.float32] = (total / np.linalg.norm(total)).astype(np.float32)
    return replace(messages[0], text=text, adapted_vector=unit)


def speaks_for_itself(message: SearchResult) -> bool:
    """Return whether a message says too much to be a mere follow-up."""
    return len(set(message.query.terms)) > _MAX_TERMS


def is_follow_up(snapshot: Snapshot, latest: SearchResult, earlier: SearchResult, recipe: Recipe) -> bool:
    """Return whether a message only makes sense after an earlier one: "yes, do it", "and for Berlin?".

    It says little, and both together mean nearly what the earlier one means alone. Of a message in another language
    than English that cannot be told: it counts as a follow-up.
    """
    if request_language(latest.query.text) != ENGLISH:
        return True
    if speaks_for_itself(latest):
        return False
    both = encode(snapshot, [f"{earlier.query.text}\n{latest.query.text}"], recipe)[0]
    return len(set(latest.query.terms)) * (1 - _cosine(earlier.query, both)) <= _MAX_ADDED


def _cosine(one: EncodedQuery, other: EncodedQuery) -> float:
    """Return the cosine of two queries' vectors; without an encoder, of their sets of terms."""
    if one.adapted_vector is not None and other.adapted_vector is not None:
        return float(one.adapted_vector @ other.adapted_vector)
    terms = set(one.terms), set(other.terms)
    return len(terms[0] & terms[1]) / max(1.0, math.sqrt(len(terms[0]) * len(terms[1])))
