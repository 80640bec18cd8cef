"""What the model says of needs and of tools that meet them."""

import pytest

from router.tools.prerequisites.matching import find_prerequisites
from router.tools.prerequisites.needs import stated_thing
from router.tools.prerequisites.resolving import Evidence
from tests.router.tools.prerequisites.making import tool
from tests.support.factories import make_expansion


@pytest.mark.parametrize(
    ("statement", "thing"),
    [
        ("a customer's id by name or e-mail", ("customer",)),
        ("the message’s timestamp", ("message",)),
        ("ids of open tickets", ()),
        ("where the office is by its key", ()),
    ],
)
def test_a_statement_speaks_of_the_identifier_of_a_thing(statement: str, thing: tuple[str, ...]) -> None:
    assert stated_thing(statement) == thing


REPLY = tool("reply_in_thread", "thread_ts", "text", provider="slack")
SEARCH = tool("search_messages", provider="slack")
REPLY_SAYS = make_expansion(requires=("the thread's timestamp",))
SEARCH_SAYS = make_expansion(provides=("a thread's timestamp by words of its messages",))


def test_what_the_model_says_makes_an_edge_where_schemas_and_names_make_none() -> None:
    assert find_prerequisites([REPLY, SEARCH]) == ()
    (edge,) = find_prerequisites([REPLY, SEARCH], {REPLY.tool_id: REPLY_SAYS, SEARCH.tool_id: SEARCH_SAYS})
    assert (edge.parameter, edge.needed, edge.confidence) == ("thread_ts", "slack/search_messages", 0.7)
    assert edge.evidence is Evidence.MODEL


def test_the_model_alone_makes_no_tool_of_another_provider_or_one_that_writes_a_resolver() -> None:
    for other in (tool("search_messages", provider="teams"), tool("delete_messages", provider="slack")):
        stated = {REPLY.tool_id: REPLY_SAYS, other.tool_id: SEARCH_SAYS}
        assert find_prerequisites([REPLY, other], stated) == ()


def test_a_tool_that_the_schemas_show_wins_over_what_the_model_says() -> None:
    reply, listing = tool("reply", "thread_id", provider="slack"), tool("list_threads", provider="slack")
    stated = {SEARCH.tool_id: SEARCH_SAYS}
    assert [edge.needed for edge in find_prerequisites([reply, SEARCH, listing], stated)] == ["slack/list_threads"]
    assert [edge.needed for edge in find_prerequisites([reply, SEARCH], stated)] == ["slack/search_messages"]
