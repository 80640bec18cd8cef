"""The oracle sees a router that serves the wrong thing, and a builder that says the wrong thing."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.cluster_month.bucket import BucketReader, Contents
from tests.cluster_month.chain import Version
from tests.cluster_month.oracle import Evening, Oracle
from tests.cluster_month.plan import Night
from tests.cluster_month.replica import Status
from tests.month.oracle import Outcome

_TRUE = {"office/a": "A tool."}
_CHAIN = (Version(1, "one", None, "*", "e1"), Version(2, "two", None, "e1", "e2"))
_STATUS = Status("two", "hash", ("one", "two"), "two", _TRUE, "", "", ())


class _Reader(BucketReader):
    """A bucket whose snapshots all hold the same tools."""

    def __init__(self) -> None:
        """Read nothing."""

    def violations(self, contents: Contents) -> Any:
        return iter(())

    def orphans(self, *_: Any) -> list[str]:
        return []

    def descriptions(self, contents: Contents, snapshot: str) -> dict[str, str]:
        return _TRUE


class _Builder:
    name = "builder 0"

    class model:
        again = ()


def _broken(status: Status = _STATUS, outcome: Outcome | None = None) -> list[str]:
    contents = Contents({"revision": 2, "snapshot": "two"}, {"two": {"content_hash": "hash"}}, {})
    evening = Evening(Night(1, bucket="late"), [outcome], contents, _CHAIN, {3: status}, [], 1)
    builders: Any = [_Builder()]
    return list(Oracle(_Reader(), timedelta()).violations(evening, builders, _TRUE))


def test_a_router_that_serves_what_is_current_breaks_nothing() -> None:
    assert _broken(outcome=Outcome(0, "", "", {"outcome": "published", "snapshot": "x/two"})) == []


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"served": ("two", "one", "two")}, "went back"),
        ({"served": ("one", "other", "two")}, "was not published"),
        ({"snapshot": "one", "answered_from": "one", "served": ("one",)}, "serves one and not two"),
        ({"answered_from": "one"}, "answered from one"),
        ({"content_hash": "other"}, "serves another content"),
        ({"descriptions": {"office/a": "Another tool."}}, "answers with descriptions that two does not have"),
        ({"problem": "a file differs"}, "not whole: a file differs"),
    ],
)
def test_a_router_that_serves_the_wrong_thing_is_seen(wrong: dict[str, Any], told: str) -> None:
    outcome = Outcome(0, "", "", {"outcome": "published", "snapshot": "two"})
    (broken,) = _broken(replace(_STATUS, **wrong), outcome)
    assert told in broken


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome(0, "", "", {"outcome": "published", "snapshot": "lost"}), "it is lost"),
        (Outcome(0, "", "", {}), "did not say why"),
        (Outcome(70, "", "Traceback", {}), "unforeseen error"),
        (Outcome(0, "", "", {"outcome": "unchanged"}), "no builder says so"),
    ],
)
def test_a_builder_that_says_the_wrong_thing_is_seen(outcome: Outcome, told: str) -> None:
    assert any(told in broken for broken in _broken(outcome=outcome))
