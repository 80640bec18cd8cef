"""Requests whose answers are known for each snapshot, and the digests by which answers are compared."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

_LARGE = 64  # requests of the large answer; 15 tools each are nearly the thousand that the server allows
_DIFFERENT = ("snapshot", "ms")  # what differs between equal answers


@dataclass(frozen=True)
class Known:
    """What a client asks: a path of the server, and the body in JSON."""

    path: str
    body: str


@dataclass(frozen=True)
class Answer:
    """What an answer says: the snapshots that it names, and a digest of all else but the times."""

    snapshots: tuple[str, ...]
    digest: str


def asked(requests: Sequence[str]) -> list[Known]:
    """Return the bodies that clients ask by turns: each request with other options; the last one has a large answer.

    Raises ValueError where there is no request.
    """
    if not requests:
        raise ValueError("there is no request to ask: give a catalog with judgements or phrases")
    options: Sequence[Mapping[str, Any]] = (
        {"k": 5},
        {"k": 10, "explain": True},
        {"k": 5, "form": "anthropic", "token_budget": 1_500},
        {"k": 5, "selection": {"block": ["*delete*"]}},
    )
    one = [
        Known("/v1/route", json.dumps({"request": request, **options[number % len(options)]}))
        for number, request in enumerate(requests)
    ]
    several = [
        Known("/v1/route-many", json.dumps({"requests": list(requests[start : start + 3]), "k": 5}))
        for start in range(0, len(requests), 20)
    ]
    large = [requests[number % len(requests)] for number in range(_LARGE)]
    return [*one, *several, Known("/v1/route-many", json.dumps({"requests": large, "k": 15}))]


def read_answer(content: bytes) -> Answer:
    """Return what an answer of `/v1/route` or `/v1/route-many` says. Raises ValueError where it is no JSON."""
    whole = json.loads(content)
    answers = whole.get("answers", [whole])
    names = tuple(sorted({answer["snapshot"] for answer in answers}))
    kept = [{key: value for key, value in answer.items() if key not in _DIFFERENT} for answer in answers]
    return Answer(names, hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16])


def ask(connection: HTTPConnection, known: Known) -> tuple[int, bytes]:
    """Ask over a connection; return the status and the content. Raises OSError and HTTPException."""
    connection.request("POST", known.path, known.body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, response.read()


def digests(port: int, bodies: Sequence[Known]) -> list[str]:
    """Return the digest of each answer of a server that serves one snapshot alone. Raises ValueError for a failure."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    found = []
    for known in bodies:
        status, content = ask(connection, known)
        if status != 200:
            raise ValueError(f"{known.path} {known.body} was answered {status}: {content[:300]!r}")
        found.append(read_answer(content).digest)
    connection.close()
    return found
