"""The lines that the table of integrations counts, and the tools and requests that it is measured with."""

from benchmarks.integrations import langchain_own, langchain_router, lines, made_functions, requests


def test_the_lines_of_a_way_are_those_that_its_user_types() -> None:
    assert lines(langchain_own) == 3  # two imports, the agent
    assert lines(langchain_router) == 6  # two more imports, the router


def test_each_request_has_its_right_tool_among_200() -> None:
    names = [function.__name__ for function in made_functions()]
    assert len(set(names)) == 200
    assert set(requests().values()) <= set(names)
