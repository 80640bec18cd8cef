"""Bringing the tools that must run first, against the formula worked by hand."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.contract import PREREQUISITES
from router.errors import SnapshotInvalid
from router.retrieval.prerequisite_graph import PrerequisiteGraph
from router.retrieval.prerequisites import BroughtTools, Dependent, bring_prerequisites
from router.retrieval.retrievers import EMPTY, Ranking
from router.tools.prerequisites import Evidence, NeedKind, Prerequisite
from tests.support.factories import make_record

# Ordinals 0 to 5 are of provider "a", 6 and 7 of "b", 8 of none.
RECORDS = [make_record(f"t{n}", "a" if n < 6 else "b" if n < 8 else None, tool_id=f"t{n}") for n in range(9)]


def edge(needing: int, resolver: int, confidence: float = 1.0, noun: str = "person", **more: object) -> Prerequisite:
    kind = NeedKind(str(more.get("kind", "identifier")))
    parameter = str(more.get("parameter", f"{noun}_id"))
    own = bool(more.get("of_own"))
    return Prerequisite(
        f"t{needing}", parameter, kind, noun, f"t{resolver}", confidence, Evidence.NAME, "it finds a person", own
    )


def graph(*edges: Prerequisite) -> PrerequisiteGraph:
    ordered = sorted(edges, key=lambda e: (e.tool_id, e.parameter, -e.confidence, e.needed))
    made = PrerequisiteGraph.of(RECORDS, ordered)
    assert made
    return made


def ranking(*pairs: tuple[int, float]) -> Ranking:
    return Ranking(np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs]))


def bring(listed: Ranking, *edges: Prerequisite, request: str = "films of her", kept_out: int = -1) -> BroughtTools:
    return bring_prerequisites(listed, request, graph(*edges), lambda ordinal: None if ordinal == kept_out else ordinal)


def test_a_resolver_follows_the_tool_that_needs_it() -> None:
    brought = bring(ranking((0, 4.0), (1, 3.9), (2, 3.0)), edge(0, 5))
    assert brought.ranking.ordinals.tolist() == [0, 1, 5, 2]
    assert brought.ranking.scores.tolist() == pytest.approx([4.0, 3.9, 3.8, 3.0])  # .95 × 4
    assert brought.dependents == {5: (Dependent(0, "person_id"),)}
    assert brought.raises == {5: pytest.approx(3.8)}


def test_a_resolver_further_down_is_raised_and_told_by_how_much() -> None:
    brought = bring(ranking((0, 4.0), (1, 3.0), (5, 1.0)), edge(0, 5))
    assert brought.ranking.ordinals.tolist() == [0, 5, 1]
    assert brought.raises == {5: pytest.approx(2.8)}


def test_a_resolver_that_stands_higher_stays_and_is_named() -> None:
    brought = bring(ranking((5, 5.0), (0, 4.0)), edge(0, 5))
    assert brought.ranking.ordinals.tolist() == [5, 0]
    assert (brought.raises, brought.dependents) == ({}, {5: (Dependent(0, "person_id"),)})


def test_a_provider_with_a_small_share_of_the_first_tools_brings_less() -> None:
    brought = bring(ranking((6, 4.0), (7, 3.0), (0, 3.0)), edge(0, 5))
    # Provider a has 3 of 10: .95 × 3 × √(.3 / .6)
    assert brought.raises[5] == pytest.approx(0.95 * 3 * math.sqrt(0.5))


def test_a_request_that_brings_the_identifier_needs_no_resolver() -> None:
    listed = ranking((0, 4.0), (1, 3.0))
    assert bring(listed, edge(0, 5), request="films of person 123").raises == {}
    assert bring(listed, edge(0, 5), request="https://example.com/p/1").raises == {}
    assert bring(listed, edge(0, 5), request="film 123").raises != {}


def test_a_point_in_the_request_meets_the_need_for_coordinates() -> None:
    listed, needed = ranking((0, 4.0)), edge(0, 5, noun="coordinates", kind="coordinates", parameter="lat")
    assert bring(listed, needed, request="rain at 48.85, 2.35").raises == {}
    assert bring(listed, needed, request="rain in Paris").raises != {}


def test_a_resolver_that_needs_something_brings_its_own_one_step_further() -> None:
    brought = bring(ranking((0, 4.0), (1, 1.0)), edge(0, 4), edge(4, 3, noun="team"), edge(3, 2, noun="org"))
    assert brought.ranking.ordinals.tolist() == [0, 4, 3, 1]  # 2 is three steps away
    assert brought.ranking.scores.tolist() == pytest.approx([4.0, 3.8, 3.61, 1.0])


def test_circles_end() -> None:
    brought = bring(ranking((0, 4.0), (1, 1.0)), edge(0, 4), edge(4, 0, noun="team"))
    assert brought.ranking.ordinals.tolist() == [0, 4, 1]


def test_no_more_than_three_tools_are_brought() -> None:
    listed = ranking((0, 4.0))
    edges = [edge(0, n, noun=f"thing{n}") for n in (1, 2, 3, 4, 5)]
    assert len(bring(listed, *edges).ranking) == 4


def test_tools_that_the_answer_may_not_have_are_not_brought() -> None:
    brought = bring(ranking((0, 4.0)), edge(0, 5), edge(0, 4, 0.8), kept_out=5)
    assert brought.ranking.ordinals.tolist() == [0, 4]


def test_of_nearly_as_sure_resolvers_that_which_the_request_ranks_is_taken() -> None:
    listed = ranking((0, 4.0), (1, 1.0), (4, 0.5))
    assert 4 in bring(listed, edge(0, 5, 1.0), edge(0, 4, 0.96)).raises
    assert 5 in bring(listed, edge(0, 5, 1.0), edge(0, 4, 0.9)).raises


def test_a_resolver_of_the_callers_own_things_takes_a_request_that_says_my() -> None:
    edges = edge(0, 5, 0.9, "album"), edge(0, 4, 0.85, "album", of_own=True)
    listed = ranking((0, 4.0), (1, 1.0), (4, 0.5))
    assert 5 in bring(listed, *edges, request="take Nevermind out").raises
    assert 4 in bring(listed, *edges, request="take Nevermind out of my albums").raises


def test_an_empty_ranking_stays_empty() -> None:
    assert len(bring(EMPTY, edge(0, 5)).ranking) == 0


@given(
    st.lists(st.tuples(st.integers(0, 8), st.floats(-2, 5)), unique_by=lambda pair: pair[0], max_size=9),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0.6, 1)), min_size=1, max_size=12),
)
def test_nothing_is_lost_the_first_stays_first_and_scores_do_not_rise(
    pairs: list[tuple[int, float]], edges: list[tuple[int, int, float]]
) -> None:
    listed = ranking(*sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
    brought = bring(listed, *(edge(a, b, c) for a, b, c in {(a, b): (a, b, c) for a, b, c in edges}.values()))
    ordinals, scores = brought.ranking.ordinals.tolist(), brought.ranking.scores.tolist()
    assert set(listed.ordinals.tolist()) <= set(ordinals)
    assert len(set(ordinals)) == len(ordinals) <= len(listed) + 3
    assert ordinals[:1] == listed.ordinals[:1].tolist()
    assert scores == sorted(scores, reverse=True)
    unmoved = [o for o in ordinals if o not in brought.raises]
    assert unmoved == [o for o in listed.ordinals.tolist() if o not in brought.raises]


def test_a_graph_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = graph(edge(0, 5), edge(0, 4, 0.8, of_own=True), edge(7, 6, noun=""))
    made.save(tmp_path)
    opened = PrerequisiteGraph.open(tmp_path, len(RECORDS))
    assert [opened.needs(n) for n in range(9)] == [made.needs(n) for n in range(9)]
    assert [opened.provider(n) for n in range(10)] == [0, 0, 0, 0, 0, 0, 1, 1, -1, -1]


def test_a_damaged_graph_is_refused(tmp_path: Path) -> None:
    graph(edge(0, 5)).save(tmp_path)
    with pytest.raises(SnapshotInvalid, match="does not fit"):
        PrerequisiteGraph.open(tmp_path, 8)
    line = (tmp_path / PREREQUISITES).read_bytes()
    (tmp_path / PREREQUISITES).write_bytes(line.replace(b"[5,", b"[9,"))
    with pytest.raises(SnapshotInvalid, match="names a resolver that is none"):
        PrerequisiteGraph.open(tmp_path, 9)
    (tmp_path / PREREQUISITES).write_bytes(b"?" * len(line))
    with pytest.raises(SnapshotInvalid, match="are damaged"):
        PrerequisiteGraph.open(tmp_path, 9)


def test_an_overlay_moves_resolvers_and_drops_those_that_it_hides() -> None:
    moved_to = np.arange(9)
    moved_to[5], moved_to[4] = 10, -1
    moved = graph(edge(0, 5), edge(0, 4)).with_ordinals(moved_to)
    assert [resolver.ordinal for resolver in moved.needs(0)[0].resolvers] == [10]


def test_of_two_tools_that_need_each_other_only_the_second_runs_first() -> None:
    brought = bring(ranking((0, 4.0), (4, 3.0)), edge(0, 4), edge(4, 0, noun="team"))
    assert brought.dependents == {4: (Dependent(0, "person_id"),)}


def test_a_circle_over_three_tools_is_left_open() -> None:
    edges = edge(0, 4), edge(4, 3, noun="team"), edge(3, 0, noun="org")
    brought = bring(ranking((0, 4.0), (4, 3.0), (3, 2.0)), *edges)
    assert brought.dependents == {4: (Dependent(0, "person_id"),), 3: (Dependent(4, "team_id"),)}
