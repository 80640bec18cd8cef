"""The chain of CURRENT's versions: what breaks it, and how a router may follow it."""

import hashlib
import json

from tests.cluster_month.chain import Version, chain_violations, follows, publications, read_chain
from tests.support.faults import Logged


def _written(revision: int, snapshot: str, condition: str, *, done: bool = True) -> Logged:
    body = json.dumps({"revision": revision, "snapshot": snapshot, "state": {"pin": None}}).encode()
    return Logged("PUT", "CURRENT", 200, len(body), 0, "", done, body, condition)


def _etag(entry: Logged) -> str:
    return f'"{hashlib.md5(entry.body, usedforsecurity=False).hexdigest()}"'


def test_versions_that_replace_each_other_are_a_chain() -> None:
    first = _written(1, "a", "*")
    second = _written(2, "b", _etag(first))
    refused = _written(2, "c", _etag(first), done=False)
    chain = read_chain([[second], [refused, first]])
    assert list(chain_violations(chain)) == []
    assert publications(chain) == ["a", "b"]


def test_a_version_that_overwrites_another_breaks_the_chain() -> None:
    first = _written(1, "a", "*")
    chain = read_chain([[first, _written(2, "b", _etag(first)), _written(2, "c", _etag(first))]])
    assert any("not the one before" in violation for violation in chain_violations(chain))


def test_a_version_without_a_condition_breaks_the_chain() -> None:
    first = _written(1, "a", "*")
    chain = read_chain([[first, _written(2, "b", "")]])
    assert list(chain_violations(chain)) == ["revision 2 of CURRENT was written without a condition"]


def test_a_missing_version_breaks_the_chain() -> None:
    chain = [Version(1, "a", None, "*", "one"), Version(3, "b", None, "one", "three")]
    assert list(chain_violations(chain)) == ["revision 3 of CURRENT came after 1"]


def test_a_router_may_leave_publications_out() -> None:
    assert follows(["a", "c"], ["a", "b", "c"])


def test_a_router_may_not_go_back_unless_a_publication_did() -> None:
    assert not follows(["b", "a"], ["a", "b", "c"])
    assert follows(["b", "a"], ["a", "b", "a"])


def test_a_router_may_not_serve_what_was_never_published() -> None:
    assert not follows(["a", "x"], ["a", "b"])
