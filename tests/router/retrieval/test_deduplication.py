"""Near-duplicates: who is one of whom, and what of them a ranking keeps."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.record import Parameter, ToolRecord
from router.retrieval.deduplication import collapse, duplicate_groups
from router.retrieval.retrievers import EMPTY
from tests.router.retrieval.rankings import ranking
from tests.support.factories import make_record


def query(tool_id: str, description: str = "Runs SQL.") -> ToolRecord:
    """A tool `query`; what stands before the slash is its provider."""
    return make_record("query", tool_id.partition("/")[0], tool_id=tool_id, description=description)


def thin(provider: str, *paths: str) -> ToolRecord:
    """A tool without a description."""
    parameters = tuple(Parameter(path, "string") for path in paths)
    return make_record("search", provider, description="", parameters=parameters)


ISSUES = [
    make_record("getIssue", "fork-a", description="Gets an issue."),
    make_record("list_issues", "fork-a", description="Lists issues."),
    make_record("get_issue", "fork-b", description="gets  an issue"),
]


@pytest.mark.parametrize(
    ("records", "groups"),
    [
        (ISSUES, [0, 1, 0]),
        ([query("a/query"), query("b/query", "Runs CQL.")], [0, 1]),
        ([query("a/query"), query("a/query~2")], [0, 1]),  # nobody within a provider or without one
        ([make_record("query", None), make_record("query", None)], [0, 1]),
        # Pairs within two providers, in the order of their ids; a second tool of one provider stands alone.
        (list(map(query, ("a/query", "a/query~2", "b/query", "b/query~2"))), [0, 1, 0, 1]),
        (list(map(query, ("a/query~2", "b/query", "a/query", "b/query~2"))), [0, 1, 1, 0]),
        (list(map(query, ("a/query", "b/query", "b/query~2", "c/query"))), [0, 0, 2, 0]),
        # Without descriptions by the parameters.
        ([thin("a", "q", "page"), thin("b", "page", "q"), thin("c", "q"), thin("d"), thin("e")], [0, 0, 2, 3, 4]),
    ],
)
def test_duplicates_are_tools_of_several_providers_in_the_same_words(
    records: list[ToolRecord], groups: list[int]
) -> None:
    assert duplicate_groups(records).tolist() == groups


def partition(records: list[ToolRecord]) -> set[frozenset[str]]:
    """The groups as sets of ids."""
    groups = duplicate_groups(records).tolist()
    return {
        frozenset(record.tool_id for record, of in zip(records, groups, strict=True) if of == group) for group in groups
    }


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9), st.sampled_from("xy")), unique=True), st.randoms()
)
def test_groups_do_not_depend_on_the_order_and_have_one_tool_of_a_provider(
    catalog: list[tuple[str, int, str]], random: Random
) -> None:
    records = [query(f"{provider}/{number}{text}", text) for provider, number, text in catalog]
    groups = partition(records)
    assert partition(random.sample(records, len(records))) == groups
    assert all(len({tool_id[0] for tool_id in group}) == len(group) for group in groups)


def test_the_best_ranked_duplicate_is_kept_and_the_others_stand_under_it() -> None:
    groups = np.array([0, 1, 0, 3, 0, 1], np.int64)  # 0, 2, 4 are one tool; 1, 5 another
    kept, under = collapse(ranking((4, 5.0), (3, 4.0), (0, 3.0), (5, 2.0), (2, 1.0)), groups)
    assert (kept.tolist(), under) == ([0, 1, 3], {4: (0, 2)})
    assert collapse(EMPTY, np.arange(3))[0].tolist() == []
