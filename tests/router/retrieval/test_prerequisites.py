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
from router.tools.prerequisites import NeedKind
from router.tools.prerequisites.matching import Prerequisite
from router.tools.prerequisites.resolving import Evidence
from tests.router.retrieval.rankings import ranking
from tests.support.factories import make_record

# Ordinals 0 to 5 are of provider "a", 6 and 7 of "b", 8 of none.
RECORDS = [make_record(f"t{n}", "a" if n < 6 else "b" if n < 8 else None, tool_id=f"t{n}") for n in range(9)]


def edge(
    needing: int, resolver: int, confidence: float = 1.0, noun: str = "person", *, own: bool = False
) -> Prerequisite:
    """That a tool needs the identifier of a thing, or coordinates, which another gives."""
    kind, parameter = NeedKind.IDENTIFIER, f"{noun}_id"
    if noun == "coordinates":
        kind, parameter = NeedKind.COORDINATES, "lat"
    return Prerequisite(
        f"t{needing}", parameter, kind, noun, f"t{resolver}", confidence, Evidence.NAME, "it finds a person", own
    )


def graph(*edges: Prerequisite) -> PrerequisiteGraph:
    ordered = sorted(edges, key=lambda e: (e.tool_id, e.parameter, -e.confidence, e.needed))
    made = PrerequisiteGraph.of(RECORDS, ordered)
    assert made
    return made


def bring(listed: Ranking, *edges: Prerequisite, request: str = "films of her", kept_out: int = -1) -> BroughtTools:
    return bring_prerequisites(listed, request, graph(*edges), lambda ordinal: None if ordinal == kept_out else ordinal)


FIRST, RANKED = ranking((0, 4.0), (1, 1.0)), ranking((0, 4.0), (1, 1.0), (4, 0.5))
FIVE = [edge(0, n, noun=f"thing{n}") for n in (1, 2, 3, 4, 5)]


@pytest.mark.parametrize(
    ("listed", "edges", "ordinals", "raises"),
    [
        (ranking((0, 4.0), (1, 3.9), (2, 3.0)), [edge(0, 5)], [0, 1, 5, 2], {5: 3.8}),  # .95 × 4
        # One further down is raised by what it lacks, one that stands higher stays.
        (ranking((0, 4.0), (1, 3.0), (5, 1.0)), [edge(0, 5)], [0, 5, 1], {5: 2.8}),
        (ranking((5, 5.0), (0, 4.0)), [edge(0, 5)], [5, 0], {}),
        # Provider a has 3 of 10: .95 × 3 × √(.3 / .6).
        (ranking((6, 4.0), (7, 3.0), (0, 3.0)), [edge(0, 5)], [6, 0, 7, 5], {5: 0.95 * 3 * math.sqrt(0.5)}),
        # A resolver brings its own one step further: 2 is three steps away.
        (FIRST, [edge(0, 4), edge(4, 3, noun="b"), edge(3, 2, noun="c")], [0, 4, 3, 1], {4: 3.8, 3: 3.61}),
        # No more than three are brought, and circles end.
        (ranking((0, 4.0)), FIVE, [0, 1, 2, 3], {1: 3.8, 2: 3.8, 3: 3.8}),
        (FIRST, [edge(0, 4), edge(4, 0, noun="team")], [0, 4, 1], {4: 3.8}),
        (EMPTY, [edge(0, 5)], [], {}),
        # Of nearly as sure resolvers that which the request ranks is taken.
        (RANKED, [edge(0, 5), edge(0, 4, 0.96)], [0, 4, 1], {4: 3.3}),
        (RANKED, [edge(0, 5), edge(0, 4, 0.9)], [0, 5, 1, 4], {5: 3.8}),
    ],
)
def test_who_is_brought_where_and_by_how_much_it_is_raised(
    listed: Ranking, edges: list[Prerequisite], ordinals: list[int], raises: dict[int, float]
) -> None:
    brought = bring(listed, *edges)
    assert brought.ranking.ordinals.tolist() == ordinals
    assert brought.score_boosts == pytest.approx(raises)


ALBUMS = [edge(0, 5, 0.9, "album"), edge(0, 4, 0.85, "album", own=True)]


@pytest.mark.parametrize(
    ("edges", "request_", "brought"),
    [
        ([edge(0, 5)], "films of person 123", []),
        ([edge(0, 5)], "film 123", [5]),
        ([edge(0, 5, noun="coordinates")], "rain at 48.85, 2.35", []),
        ([edge(0, 5, noun="coordinates")], "rain in Paris", [5]),
        # A resolver of the caller's own things takes a request that says "my".
        (ALBUMS, "take Nevermind out", [5]),
        (ALBUMS, "take Nevermind out of my albums", [4]),
    ],
)
def test_a_request_that_brings_what_is_needed_needs_no_resolver(
    edges: list[Prerequisite], request_: str, brought: list[int]
) -> None:
    assert list(bring(RANKED, *edges, request=request_).score_boosts) == brought


def test_what_the_answer_may_not_have_is_not_brought_and_no_two_of_its_tools_need_each_other() -> None:
    brought = bring(ranking((0, 4.0)), edge(0, 5), edge(0, 4, 0.8), kept_out=5)
    assert brought.ranking.ordinals.tolist() == [0, 4]
    both = bring(ranking((0, 4.0), (4, 3.0)), edge(0, 4), edge(4, 0, noun="team"))
    assert both.dependents == {4: (Dependent(0, "person_id"),)}
    edges = edge(0, 4), edge(4, 3, noun="team"), edge(3, 0, noun="org")
    circle = bring(ranking((0, 4.0), (4, 3.0), (3, 2.0)), *edges)
    assert circle.dependents == {4: (Dependent(0, "person_id"),), 3: (Dependent(4, "team_id"),)}


@given(
    st.lists(st.tuples(st.integers(0, 8), st.floats(-2, 5)), unique_by=lambda pair: pair[0], max_size=9),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0.6, 1)), min_size=1, max_size=12),
)
def test_nothing_is_lost_the_first_stays_first_and_scores_do_not_rise(
    pairs: list[tuple[int, float]], edges: list[tuple[int, int, float]]
) -> None:
    listed = ranking(*pairs)
    brought = bring(listed, *(edge(a, b, c) for a, b, c in {(a, b): (a, b, c) for a, b, c in edges}.values()))
    ordinals, scores = brought.ranking.ordinals.tolist(), brought.ranking.scores.tolist()
    assert len(set(ordinals)) == len(ordinals) <= len(listed) + 3
    assert ordinals[:1] == listed.ordinals[:1].tolist()
    assert scores == sorted(scores, reverse=True)
    unmoved = [ordinal for ordinal in listed.ordinals.tolist() if ordinal not in brought.score_boosts]
    assert [ordinal for ordinal in ordinals if ordinal not in brought.score_boosts] == unmoved


def test_a_graph_is_read_as_it_was_written_and_an_overlay_moves_or_hides_resolvers(tmp_path: Path) -> None:
    made = graph(edge(0, 5), edge(0, 4, 0.8, own=True), edge(7, 6, noun=""))
    made.save(tmp_path)
    opened = PrerequisiteGraph.open(tmp_path, len(RECORDS))
    assert [opened.needs(n) for n in range(9)] == [made.needs(n) for n in range(9)]
    assert [opened.provider(n) for n in range(10)] == [0, 0, 0, 0, 0, 0, 1, 1, -1, -1]
    moved_to = np.arange(9)
    moved_to[5], moved_to[4] = 10, -1
    assert [resolver.ordinal for resolver in opened.with_ordinals(moved_to).needs(0)[0].resolvers] == [10]


@pytest.mark.parametrize(
    ("was", "damaged", "tools", "says"),
    [
        (b"[", b"[", 8, "does not fit"),
        (b"[5,", b"[9,", 9, "names a resolver that is none"),
        (b"[", b"?", 9, "damaged"),
    ],
)
def test_a_damaged_graph_is_refused(tmp_path: Path, was: bytes, damaged: bytes, tools: int, says: str) -> None:
    graph(edge(0, 5)).save(tmp_path)
    path = tmp_path / PREREQUISITES
    path.write_bytes(path.read_bytes().replace(was, damaged))
    with pytest.raises(SnapshotInvalid, match=says):
        PrerequisiteGraph.open(tmp_path, tools)
