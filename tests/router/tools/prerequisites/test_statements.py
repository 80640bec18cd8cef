"""What the model says of needs and of tools that meet them."""

import pytest

from router.tools.definitions.parameters import parameter_rows
from router.tools.prerequisites import Evidence, find_prerequisites
from router.tools.prerequisites.statements import stated_thing
from tests.support.factories import make_expansion, make_record


@pytest.mark.parametrize(
    ("statement", "thing"),
    [
        ("a customer's id by name or e-mail", ("customer",)),
        ("the message’s timestamp", ("message",)),
        ("an airport code", ("airport",)),
        ("ids of open tickets", ()),
        ("an id", ()),
        ("where the office is by its key", ()),
        ("", ()),
    ],
)
def test_a_statement_speaks_of_the_identifier_of_a_thing(statement: str, thing: tuple[str, ...]) -> None:
    assert stated_thing(statement) == thing


def schema(*required: str) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in required}, "required": list(required)}


REPLY_SCHEMA = schema("thread_ts", "text")
REPLY = make_record("reply_in_thread", "slack", input_schema=REPLY_SCHEMA, parameters=parameter_rows(REPLY_SCHEMA))
SEARCH = make_record("search_messages", "slack", description="")
REPLY_SAYS = make_expansion(requires=("the thread's timestamp",))
SEARCH_SAYS = make_expansion(provides=("a thread's timestamp by words of its messages",))


def test_what_the_model_says_makes_an_edge_where_schemas_and_names_make_none() -> None:
    assert find_prerequisites([REPLY, SEARCH]) == ()
    (edge,) = find_prerequisites([REPLY, SEARCH], {REPLY.tool_id: REPLY_SAYS, SEARCH.tool_id: SEARCH_SAYS})
    assert (edge.parameter, edge.needed, edge.confidence) == ("thread_ts", "slack/search_messages", 0.7)
    assert edge.evidence is Evidence.MODEL


def test_the_model_alone_makes_no_tool_of_another_provider_or_one_that_writes_a_resolver() -> None:
    for other in (
        make_record("search_messages", "teams", description=""),
        make_record("delete_messages", "slack", description=""),
    ):
        stated = {REPLY.tool_id: REPLY_SAYS, other.tool_id: SEARCH_SAYS}
        assert find_prerequisites([REPLY, other], stated) == ()


def test_a_tool_that_the_schemas_show_wins_over_what_the_model_says() -> None:
    needed = schema("thread_id")
    reply = make_record("reply", "slack", input_schema=needed, parameters=parameter_rows(needed))
    listing = make_record("list_threads", "slack", description="")
    stated = {SEARCH.tool_id: SEARCH_SAYS}
    assert [edge.needed for edge in find_prerequisites([reply, SEARCH, listing], stated)] == ["slack/list_threads"]
    assert [edge.needed for edge in find_prerequisites([reply, SEARCH], stated)] == ["slack/search_messages"]
