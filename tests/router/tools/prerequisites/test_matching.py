"""The edges of the prerequisite graph."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.record import Link, Parameter, ToolRecord
from router.tools.definitions.parameters import parameter_rows
from router.tools.prerequisites import Evidence, find_prerequisites
from tests.support.factories import make_record


def tool(
    name: str, *required: str, optional: Sequence[str] = (), provider: str | None = "p", **more: Any
) -> ToolRecord:
    """A tool with string parameters, whose texts are in `texts`."""
    texts = more.pop("texts", {})
    properties = {p: {"type": "string", "description": texts.get(p, "")} for p in (*required, *optional)}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    more.setdefault("description", "")
    return make_record(name, provider, input_schema=schema, parameters=parameter_rows(schema), **more)


def edges(*records: ToolRecord) -> list[tuple[str, str, str, float]]:
    found = find_prerequisites(records)
    return [(e.tool_id.split("/", 1)[1], e.parameter, e.needed.split("/", 1)[1], e.confidence) for e in found]


def test_a_search_by_words_resolves_an_identifier() -> None:
    found = edges(tool("get_employee", "employee_id"), tool("find_employees", "query"))
    assert found == [("get_employee", "employee_id", "find_employees", 1.0)]


def test_rest_operations_are_matched_by_their_paths() -> None:
    found = edges(
        tool("GET /person/{person_id}/movie_credits", "person_id"),
        tool("GET /search/person", "query"),
        tool("GET /person/{person_id}", "person_id"),
        tool("DELETE /person/{person_id}", "person_id"),
    )
    assert {(needing, resolver) for needing, _, resolver, _ in found} == {
        ("GET /person/{person_id}/movie_credits", "GET /search/person"),
        ("GET /person/{person_id}", "GET /search/person"),
        ("DELETE /person/{person_id}", "GET /search/person"),
    }


def test_a_list_resolves_with_less_confidence_than_a_search() -> None:
    found = edges(tool("close_deal", "deal_id"), tool("list_deals"), tool("search_deals", "query"))
    assert found == [("close_deal", "deal_id", "search_deals", 1.0), ("close_deal", "deal_id", "list_deals", 0.85)]


def test_a_resolver_that_needs_something_itself_makes_a_chain() -> None:
    found = edges(tool("refund_order", "order_id"), tool("list_orders", "customer_id"), tool("find_customers", "email"))
    assert found == [
        ("list_orders", "customer_id", "find_customers", 1.0),
        ("refund_order", "order_id", "list_orders", pytest.approx(0.85 * 0.85, abs=5e-4)),
    ]


def test_words_before_the_head_that_the_tool_in_need_lacks_lower_the_confidence() -> None:
    needing = tool("get_workflow_run_logs", "run_id")
    resolver = ("get_workflow_run_logs", "run_id", "list_workflow_runs", 0.85)
    assert edges(needing, tool("list_check_runs"), tool("list_workflow_runs")) == [resolver]
    alone = ("get_workflow_run_logs", "run_id", "list_check_runs", 0.68)
    assert edges(needing, tool("list_check_runs")) == [alone]


@pytest.mark.parametrize(
    "resolver",
    [
        tool("create_employee", "name"),
        tool("delete_employees"),
        tool("employees_import", "name"),
        tool("get_employee_photo", "query"),
        tool("get_next_employee"),
        tool("find_employees", "query", provider="other"),
    ],
    ids=lambda record: record.tool_id,
)
def test_tools_that_write_that_return_something_else_or_that_belong_to_others_resolve_nothing(
    resolver: ToolRecord,
) -> None:
    assert edges(tool("get_balance", "employee_id"), resolver) == []


def test_tools_without_a_provider_have_no_edges() -> None:
    assert find_prerequisites([tool("get_user", "user_id", provider=None), tool("find_user", "q", provider=None)]) == ()


def test_a_parameters_description_that_names_a_tool_is_the_surest_evidence() -> None:
    needing = tool("find_flights", "originSkyId", texts={"originSkyId": "Taken from the Search Airport API."})
    edge = find_prerequisites([needing, tool("searchAirport", "query")])[0]
    assert (edge.needed, edge.confidence, edge.evidence) == ("p/searchAirport", 1.0, Evidence.MENTION)


def test_a_search_of_everything_resolves_what_it_says_that_it_searches() -> None:
    search = tool("search", "q", description="Finds albums, artists and tracks.")
    found = edges(tool("get_album", "album_id"), tool("get_invoice", "invoice_id"), search)
    assert found == [("get_album", "album_id", "search", 0.9)]


def test_a_tool_about_the_caller_resolves_a_persons_identifier() -> None:
    found = find_prerequisites([tool("POST /users/{user_id}/playlists", "user_id"), tool("GET /me")])
    assert [(edge.needed, edge.of_own) for edge in found] == [("p/GET /me", True)]


def test_coordinates_are_found_by_any_providers_geocoder_where_the_own_has_none() -> None:
    forecast = tool("get_forecast", "latitude", "longitude", provider="weather")
    geocode = tool("geocode_address", "address", provider="maps")
    assert [e.needed for e in find_prerequisites([forecast, geocode])] == ["maps/geocode_address"]
    own = tool("search_locations", "query", provider="weather")
    assert [e.needed for e in find_prerequisites([forecast, geocode, own])] == ["weather/search_locations"]


def test_a_session_is_opened_by_signing_in() -> None:
    assert edges(tool("read_mail", "session_id"), tool("log_in", "username", "password")) == [
        ("read_mail", "session_id", "log_in", 0.8)
    ]


def test_a_token_is_given_for_a_password() -> None:
    signing_up = tool("register_user", "username", "password")
    found = edges(tool("add_alarm", "token"), tool("get_user_token", "username", "password"), signing_up)
    assert found == [("add_alarm", "token", "get_user_token", 0.8)]


def test_a_bare_id_may_be_that_of_the_thing_before_the_object() -> None:
    found = edges(tool("get_person_film_credits", "id"), tool("search_person", "query"))
    assert found == [("get_person_film_credits", "id", "search_person", 1.0)]


NAMES = st.sampled_from(
    [
        "get_user",
        "find_users",
        "GET /users/{id}",
        "GET /search/users",
        "list_orders",
        "order",
        "geocode",
        "/",
        "",
        "登录",
    ]
)
PARAMETERS = st.lists(
    st.sampled_from(["id", "user_id", "orderIds", "query", "lat", "lon", "session_id", "  "]), max_size=4
)


@given(
    st.lists(
        st.tuples(NAMES, PARAMETERS, st.sampled_from(["p", "q", None])), max_size=8, unique_by=lambda t: (t[0], t[2])
    )
)
def test_edges_stay_within_a_provider_are_sure_enough_and_do_not_depend_on_the_order(
    tools: list[tuple[str, list[str], str | None]],
) -> None:
    records = [tool(name, *parameters, provider=provider) for name, parameters, provider in tools]
    found = find_prerequisites(records)
    providers = {record.tool_id: record.provider for record in records}
    for edge in found:
        assert edge.tool_id != edge.needed
        assert 0.64 <= edge.confidence <= 1
        assert providers[edge.tool_id] is not None
        assert providers[edge.tool_id] == providers[edge.needed] or edge.kind == "coordinates"
    assert find_prerequisites(records[::-1]) == found


def test_a_provider_of_thousands_of_tools_that_all_need_one_another_takes_seconds() -> None:
    records = [tool(f"list_items_{'abcdefghij'[n % 10]}{n}", "item_id") for n in range(2_000)]
    records += [tool(f"search_items_{n}", "query") for n in range(2_000)]
    started = perf_counter()
    assert find_prerequisites(records)
    assert perf_counter() - started < 30


def answering(record: ToolRecord, *paths: str) -> ToolRecord:
    """The tool with an output that has these paths."""
    return replace(record, outputs=tuple(Parameter(path, "string") for path in paths))


def test_an_identifier_in_what_a_tool_returns_is_evidence_though_its_name_says_something_else() -> None:
    search = answering(tool("search_messages", "q"), "messages[].thread_id", "messages[].text")
    edge = find_prerequisites([tool("reply_to_thread", "thread_id"), search])[0]
    assert (edge.needed, edge.confidence, edge.evidence) == ("p/search_messages", 0.75, Evidence.OUTPUT)


def test_a_tool_that_returns_no_identifier_is_less_sure() -> None:
    needing = tool("get_balance", "employee_id")
    told = answering(tool("find_employees", "query"), "employees[].name")
    assert edges(needing, told) == [("get_balance", "employee_id", "find_employees", 0.7)]
    with_id = answering(tool("find_employees", "query"), "employees[].id")
    edge = find_prerequisites([needing, with_id])[0]
    assert (edge.confidence, edge.evidence) == (1.0, Evidence.OUTPUT)


def test_a_link_of_the_document_is_the_surest_evidence() -> None:
    listing = replace(tool("listOrders"), links=(Link("purchase", "refund", "$response.body#/orders/0/id"),))
    needing = tool("refund", "purchase", texts={"purchase": "ID of the purchase."})
    edge = find_prerequisites([needing, listing])[0]
    assert (edge.needed, edge.confidence, edge.evidence) == ("p/listOrders", 1.0, Evidence.LINK)
    echoing = replace(listing, links=(Link("purchase", "refund", "$request.query.purchase"),))
    assert find_prerequisites([needing, echoing]) == ()


@pytest.mark.parametrize(
    ("named", "text"),
    [("get_project", "The same project id as in get_project."), ("delete_project", "Not the id of delete_project.")],
)
def test_a_named_tool_that_needs_the_same_does_not_give_it(named: str, text: str) -> None:
    needing = tool("update_project", "project_id", texts={"project_id": text})
    found = edges(needing, tool(named, "project_id"), tool("search_projects", "query"))
    assert ("update_project", "project_id", "search_projects", 1.0) in found
    assert {resolver for _, _, resolver, _ in found} == {"search_projects"}


def test_a_link_from_a_tool_that_needs_the_same_is_no_resolver() -> None:
    link = Link("user_id", "list_posts", "$response.body#/id")
    assert edges(tool("list_posts", "user_id"), replace(tool("get_user", "user_id"), links=(link,))) == []


def test_a_search_of_places_is_found_behind_hundreds_of_other_tools() -> None:
    others = [tool(f"list_reports_{n}") for n in range(300)]
    found = edges(tool("get_forecast", "latitude", "longitude"), *others, tool("search_locations", "query"))
    assert found == [("get_forecast", "latitude", "search_locations", 0.7)]


def test_of_two_tools_named_in_the_same_words_the_order_does_not_decide() -> None:
    needing = tool("find_flights", "sky_id", texts={"sky_id": "Taken from the search airport call."})
    records = [needing, tool("search_airport", "query"), tool("searchAirport", "query")]
    assert find_prerequisites(records) == find_prerequisites(records[::-1])
