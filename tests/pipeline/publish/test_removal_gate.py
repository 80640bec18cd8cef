"""Which removals hold a snapshot back: by source, and in all."""

from collections.abc import Sequence

import pytest

from pipeline.ledger import KnownSource
from pipeline.publish.gates import ServedSource, removal_reasons, served_sources
from pipeline.settings import PublishSettings, SourceSettings
from pipeline.sources import Gap


def _ids(name: str, count: int) -> list[str]:
    return [f"{name}/{number:03}" for number in range(count)]


def _reasons(served: Sequence[ServedSource], kept: Sequence[str], limit: float = 0.2) -> tuple[str, ...]:
    return removal_reasons(PublishSettings(max_removed_share=limit), served, frozenset(kept))


def _source(name: str, count: int, listed: bool = True) -> ServedSource:
    return ServedSource(f"{name}.json", frozenset(_ids(name, count)), listed)


@pytest.mark.parametrize(
    ("served", "kept", "held"),
    [(2, 0, False), (3, 1, False), (3, 0, True), (10, 8, False), (15, 12, False), (15, 11, True), (100, 79, True)],
)
def test_more_than_a_fifth_and_at_least_three_tools_hold_back(served: int, kept: int, held: bool) -> None:
    assert bool(_reasons([_source("a", served)], _ids("a", kept))) is held


def test_a_small_source_is_not_hidden_by_a_large_one() -> None:
    (reason,) = _reasons([_source("a", 5), _source("b", 500)], _ids("b", 500))
    assert reason.startswith("the source a.json lost 5 of its 5 serving tools: a/000, a/001, a/002, a/003, a/004; ")


def test_many_small_losses_are_held_in_all_and_told_once() -> None:
    sources = [_source(name, 2) for name in "abcdef"]
    (reason,) = _reasons(sources, _ids("a", 2))
    assert reason.startswith("10 of all 12 serving tools were removed: b/000, b/001, c/000, c/001, d/000 and 5 more; ")
    (reason,) = _reasons([_source("a", 9), _source("b", 1)], _ids("b", 1))
    assert reason.startswith("the source a.json lost 9 of its 9 ")


def test_a_source_that_is_no_longer_listed_is_told_so_with_the_way_to_accept_it() -> None:
    (reason,) = _reasons([_source("a", 4, listed=False)], ["b/000"])
    assert reason.startswith(
        "the source a.json is no longer in the catalog and takes with it 4 of its 4 serving tools: "
    )
    assert reason.endswith("publish.max_removed_share (QUARTERMASTER_PUBLISH__MAX_REMOVED_SHARE) allows 20.0%")


def test_a_limit_of_1_holds_nothing_and_where_nothing_served_there_is_nothing_to_lose() -> None:
    assert _reasons([_source("a", 9)], ["b/000"], limit=1.0) == ()
    assert _reasons([], ["b/000"]) == ()


def test_tools_belong_to_the_source_that_gave_them_and_else_to_their_origin() -> None:
    origins = {**dict.fromkeys(_ids("one", 2) + _ids("two", 2) + _ids("old", 2), "npx"), "c/0": "c.json"}
    known = [KnownSource("k1", "npx", frozenset(_ids("one", 3))), KnownSource("k2", "npx", frozenset(_ids("two", 2)))]
    sources = [SourceSettings(command=("npx", name)) for name in ("one", "two")]
    found = served_sources(origins, known, sources, ())
    assert {(one.source, one.listed, *sorted(one.tools)) for one in found} == {
        ("npx", True, *_ids("one", 2)),
        ("npx", True, *_ids("two", 2)),
        ("npx", True, *_ids("old", 2)),
        ("c.json", False, "c/0"),
    }


def test_tools_of_a_skipped_source_are_left_to_the_limit_on_skipped_sources() -> None:
    origins = {**dict.fromkeys(_ids("one", 4) + _ids("two", 4), "npx"), **dict.fromkeys(_ids("c", 4), "c.json")}
    known = [KnownSource("k1", "npx", frozenset(_ids("one", 4))), KnownSource("k2", "npx", frozenset(_ids("two", 4)))]
    gaps = [Gap("npx", "npx", "is down", key="k1"), Gap("c.json", "c.json", "is gone", key="k3")]
    (left,) = served_sources(origins, known, [SourceSettings(command=("npx",))], gaps)
    assert left.tools == frozenset(_ids("two", 4))
    empty = [Gap("npx", "npx", key="k1")]
    assert len(served_sources(origins, known, [SourceSettings(command=("npx",))], empty)) == 3
