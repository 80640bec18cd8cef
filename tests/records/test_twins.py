"""Who is a twin of whom."""

from pipeline.records.twins import twins
from router.record import Parameter
from tests.factories import make_record


def test_one_name_and_description_of_two_providers_are_twins() -> None:
    records = [
        make_record("getIssue", "fork-a", description="Gets an issue."),
        make_record("list_issues", "fork-a", description="Lists issues."),
        make_record("get_issue", "fork-b", description="gets  an issue"),
    ]
    assert twins(records).tolist() == [0, 1, 0]


def test_another_description_is_another_tool() -> None:
    records = [make_record("query", "a", description="Runs SQL."), make_record("query", "b", description="Runs CQL.")]
    assert twins(records).tolist() == [0, 1]


def test_nobody_is_a_twin_within_a_provider_or_without_one() -> None:
    own = [make_record("query", "a", tool_id="a/query"), make_record("query", "a", tool_id="a/query~2")]
    assert twins(own).tolist() == [0, 1]
    assert twins([make_record("query", None), make_record("query", None)]).tolist() == [0, 1]


def test_pairs_within_two_providers_are_twins_in_order() -> None:
    records = [make_record("query", provider, tool_id=f"{provider}{n}") for provider in "ab" for n in (1, 2)]
    assert twins(records).tolist() == [0, 1, 0, 1]


def test_tools_without_description_are_twins_by_their_parameters() -> None:
    def thin(provider: str, *paths: str):  # type: ignore[no-untyped-def]
        parameters = tuple(Parameter(path, "string") for path in paths)
        return make_record("search", provider, description="", parameters=parameters)

    assert twins([thin("a", "q", "page"), thin("b", "page", "q"), thin("c", "q"), thin("d"), thin("e")]).tolist() == [
        0,
        0,
        2,
        3,
        4,
    ]
