"""Several recent messages as one request, weighted to the latest.

    score(d) = latest(d) + Σ over earlier messages w^age × ranking(message, d)

Each message is ranked by itself, for the lists' standard scores of one are comparable with those of another: a message
that says all it needs decides alone, and one that does not ("the same for Bob", "yes, please") has little to say, so
that what was said before does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from router.errors import RequestInvalid
from router.query.steps import Steps
from router.retrieval.retrievers import EncodedQuery, Ranking
from router.retrieval.step_fusion import StepCoverage
from router.search.search import SearchResult

# Each message costs as much as a request.
_MOST = 4
# Full@10 / nDCG@10 of the demo's 178 requests of one tool: followed by one that says nothing of it ("and the same for
# Bob, please"), where its tool is still what is needed; and after another of them, where that is over.
#            0            .25          .35          .5           .6           .7           1            in one text
# follow-up  .090 / .041  .399 / .200  .618 / .314  .719 / .458  .770 / .521  .815 / .573  .848 / .656  .921 / .721
# change     .893 / .706  .876 / .694  .876 / .695  .854 / .666  .843 / .648  .826 / .628  .753 / .529  .702 / .477
# To lean on the messages before by how little the latest fits gives no more: .798 / .575 and .826 / .655.
_DECAY = 0.6
_SPEAKER = "user"

Message = str | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class UserMessages:
    """What is asked: the latest message, and those before it, the latest first."""

    latest: str
    earlier: tuple[str, ...] = ()


def user_messages(request: str | Sequence[Message]) -> UserMessages:
    """The last four messages of the user, of a request that is one text or a dialogue, oldest first.

    A message is a text, or a mapping with `content` and a `role`, as chat APIs take them; `content` is a text or a
    list of parts, of which texts and those with a `text` count. Raises RequestInvalid, with its place, for anything
    else, and where the user says nothing.
    """
    if isinstance(request, str):
        return UserMessages(request)
    if not isinstance(request, Sequence) or isinstance(request, bytes | bytearray):
        raise RequestInvalid(f"the request is {request!r}, it must be a text or a list of messages")
    texts = [text for place, message in enumerate(request) if (text := _text(place, message)).strip()]
    if not texts:
        raise RequestInvalid(f"no message of {len(request)} holds text of the user: say what should be done")
    *earlier, latest = texts[-_MOST:]
    return UserMessages(latest, tuple(reversed(earlier)))


def _text(place: int, message: Message) -> str:
    """What the user says in a message; nothing in one of somebody else."""
    if isinstance(message, str):
        return message
    if not isinstance(message, Mapping):
        raise RequestInvalid(f"messages[{place}] is {message!r}, it must be a text, or have a role and a content")
    if message.get("role", _SPEAKER) != _SPEAKER:
        return ""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise RequestInvalid(f"messages[{place}].content is {content!r}, it must be a text or a list of parts")
    parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    return "\n".join(part for part in parts if isinstance(part, str))


def combine_messages(latest: SearchResult, earlier: Sequence[SearchResult]) -> SearchResult:
    """What the latest message finds, with what earlier ones did, the latest of them first.

    None of them has its duplicates collapsed. What a message before it gives a tool counts as its gain, and as its step
    where it gives most.
    """
    if not earlier:
        return latest
    rankings = [latest.ranking, *(found.ranking for found in earlier)]
    ordinals = np.unique(np.concatenate([ranking.ordinals for ranking in rankings]))
    scores = np.full(len(ordinals), min(0.0, float(latest.ranking.scores.min(initial=0.0))))
    scores[np.searchsorted(ordinals, latest.ranking.ordinals)] = latest.ranking.scores
    gains, steps, most = np.zeros(len(ordinals)), np.full(len(ordinals), -1), np.zeros(len(ordinals))
    if latest.covered is not None:
        rows = np.searchsorted(ordinals, latest.covered.ranking.ordinals)
        gains[rows], steps[rows] = latest.covered.gains, latest.covered.steps
        most[:] = gains
    for age, found in enumerate(earlier, start=1):
        rows = np.searchsorted(ordinals, found.ranking.ordinals)
        given = _DECAY**age * np.maximum(found.ranking.scores, 0.0)
        scores[rows] += given
        gains[rows] += given
        steps[rows[given > most[rows]]] = len(latest.steps) + age - 1
        most[rows] = np.maximum(most[rows], given)
    order = np.lexsort((ordinals, -scores))
    ranking = Ranking(ordinals[order], scores[order])
    texts = (*latest.steps.texts, *(found.query.text for found in earlier))
    share = latest.steps.share if latest.covered is not None else 1.0
    said_so_far = Steps(texts, (*latest.steps.weights, *(_DECAY**age for age in range(1, len(earlier) + 1))), share)
    covered = StepCoverage(ranking, gains[order], steps[order])
    asked = _as_one([latest.query, *(found.query for found in earlier)])
    return replace(latest, query=asked, covered=covered, ranking=ranking, steps=said_so_far)


def _as_one(messages: Sequence[EncodedQuery]) -> EncodedQuery:
    """A dialogue, the latest message first, as one text and one vector of the dense list, for what looks at the tools
    found: by "and the same for Bob" alone, thresholds and a reranker would lose what that goes on with."""
    text = "\n".join(message.text for message in messages)  # the latest first: a reranker reads so far
    weighed = [
        _DECAY**age * message.adapted_vector
        for age, message in enumerate(messages)
        if message.adapted_vector is not None
    ]
    if not weighed:
        return replace(messages[0], text=text)
    moved = np.sum(weighed, axis=0)
    unit: NDArray[np.float32] = (moved / np.linalg.norm(moved)).astype(np.float32)
    return replace(messages[0], text=text, adapted_vector=unit)
