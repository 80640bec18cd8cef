"""The versions of CURRENT, as the server took them: each written over the one before, none lost, none mixed."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.faults import Logged

# What proxies must keep of the requests.
KEPT = "*CURRENT"


@dataclass(frozen=True)
class Version:
    """A version of CURRENT that the server stored.

    Attributes:
        revision: Its number.
        snapshot: The snapshot that serves with it; None before the first publication.
        pinned: The pinned snapshot; None where none is.
        condition: The ETag of the version that it replaced; "*" where there was to be none.
        etag: Its own ETag.
    """

    revision: int
    snapshot: str | None
    pinned: str | None
    condition: str
    etag: str


def read_chain(logs: Iterable[Iterable[Logged]]) -> list[Version]:
    """Return the versions of CURRENT in the logs of proxies, by revision."""
    versions = [
        _version(entry.body, entry.condition)
        for log in logs
        for entry in log
        if entry.method == "PUT" and entry.done and entry.body
    ]
    return sorted(versions, key=lambda version: version.revision)


def chain_violations(chain: Sequence[Version]) -> Iterator[str]:
    """Yield a sentence for each version that does not follow the one before."""
    etag = "*"
    for number, version in enumerate(chain):
        if not version.condition:
            yield f"revision {version.revision} of CURRENT was written without a condition"
        elif version.condition != etag:
            yield f"revision {version.revision} of CURRENT replaced {version.condition}, not the one before ({etag})"
        if number and version.revision != chain[number - 1].revision + 1:
            yield f"revision {version.revision} of CURRENT came after {chain[number - 1].revision}"
        etag = version.etag


def publications(chain: Sequence[Version]) -> list[str]:
    """Return the snapshots that served one after the other; one twice where it came back."""
    names: list[str] = []
    for version in chain:
        if version.snapshot is not None and names[-1:] != [version.snapshot]:
            names.append(version.snapshot)
    return names


def follows(served: Sequence[str], published: Sequence[str]) -> bool:
    """Whether a router may have served these names in this order: some of the publications, none before another."""
    left = iter(published)
    return all(name in left for name in served)


def _version(body: bytes, condition: str) -> Version:
    head: dict[str, Any] = json.loads(body)
    pin = head["state"]["pin"]
    etag = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
    return Version(head["revision"], head["snapshot"], pin["snapshot"] if pin else None, condition, etag)
