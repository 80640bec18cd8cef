"""The edges of the prerequisite graph."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.record import Link, Parameter, ToolRecord
from router.tools.prerequisites.matching import find_prerequisites
from router.tools.prerequisites.resolving import Evidence
from tests.router.tools.prerequisites.making import tool
from tests.support.factories import make_expansion

Compute = Callable[[Sequence[int]], Sequence[Any]]


def edges(*records: ToolRecord) -> list[str]:
    """The edges as "tool(parameter) resolver confidence", without providers."""
    found = find_prerequisites(records)
    names = {edge: (edge.tool_id.partition("/")[2], edge.needed.partition("/")[2]) for edge in found}
    return [f"{one}({edge.parameter}) {needed} {edge.confidence:g}" for edge, (one, needed) in names.items()]


def tools(text: str) -> list[ToolRecord]:
    """The tools of "search_deals(query) list_deals()"."""
    return [tool(name, *given.split()) for name, given in re.findall(r"(\w+)\(([^)]*)\)", text)]


def test_rest_operations_are_matched_by_their_paths() -> None:
    found = edges(
        tool("GET /person/{person_id}/movie_credits", "person_id"),
        tool("GET /search/person", "query"),
        tool("GET /person/{person_id}", "person_id"),
        tool("DELETE /person/{person_id}", "person_id"),
    )
    needing = ("DELETE /person/{person_id}", "GET /person/{person_id}", "GET /person/{person_id}/movie_credits")
    assert found == [f"{one}(person_id) GET /search/person 1" for one in needing]


PAY = tool("pay", "cart_id", texts={"cart_id": "As create_cart answered."})
REPORTS = [tool(f"list_reports_{n}") for n in range(300)]
ALBUMS = tool("search", "q", description="Finds albums, artists and tracks.")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (
            tools("close_deal(deal_id) list_deals() search_deals(query)"),
            ["close_deal(deal_id) search_deals 1", "close_deal(deal_id) list_deals 0.85"],
        ),
        (
            tools("refund_order(order_id) list_orders(customer_id) find_customers(email)"),
            ["list_orders(customer_id) find_customers 1", "refund_order(order_id) list_orders 0.722"],
        ),
        ([*tools("get_album(album_id) get_invoice(invoice_id)"), ALBUMS], ["get_album(album_id) search 0.9"]),
        (
            tools("add_alarm(token) get_user_token(username password) register_user(username password)"),
            ["add_alarm(token) get_user_token 0.8"],
        ),
        (tools("get_person_film_credits(id) search_person(query)"), ["get_person_film_credits(id) search_person 1"]),
        # A generated name, without its path and its method.
        (tools("read_user_users__id__get(id) search_users(query)"), ["read_user_users__id__get(id) search_users 1"]),
        (
            tools("get_workflow_run_logs(run_id) list_check_runs() list_workflow_runs()"),
            ["get_workflow_run_logs(run_id) list_workflow_runs 0.85"],
        ),
        # Less sure: it lacks a word before the head.
        (
            tools("get_workflow_run_logs(run_id) list_check_runs()"),
            ["get_workflow_run_logs(run_id) list_check_runs 0.68"],
        ),
        (
            [PAY, *tools("list_carts() create_cart(name)")],
            [],
        ),  # the vendor names a tool that writes: no other is guessed
        ([PAY, *tools("list_carts()")], ["pay(cart_id) list_carts 0.85"]),
        (
            [*tools("get_forecast(latitude longitude) search_locations(query)"), *REPORTS],
            ["get_forecast(latitude) search_locations 0.7"],
        ),
    ],
    ids=range(11),
)
def test_what_a_tool_needs_is_found_by_another(records: list[ToolRecord], expected: list[str]) -> None:
    assert edges(*records) == expected


@pytest.mark.parametrize(
    "resolver",
    [
        *tools("create_employee(name) delete_employees() employees_import(name) get_employee_photo(query)"),
        tool("get_next_employee"),
        tool("find_employees", "query", provider="other"),
    ],
    ids=lambda record: record.tool_id,
)
def test_tools_that_write_that_return_something_else_or_that_belong_to_others_resolve_nothing(
    resolver: ToolRecord,
) -> None:
    assert edges(tool("get_balance", "employee_id"), resolver) == []


def test_a_tool_about_the_caller_resolves_a_persons_identifier() -> None:
    found = find_prerequisites([tool("POST /users/{user_id}/playlists", "user_id"), tool("GET /me")])
    assert [(edge.needed, edge.of_own) for edge in found] == [("p/GET /me", True)]


def test_coordinates_are_found_by_any_providers_geocoder_where_the_own_has_none() -> None:
    forecast = tool("get_forecast", "latitude", "longitude", provider="weather")
    geocode = tool("geocode_address", "address", provider="maps")
    assert [e.needed for e in find_prerequisites([forecast, geocode])] == ["maps/geocode_address"]
    own = tool("search_locations", "query", provider="weather")
    assert [e.needed for e in find_prerequisites([forecast, geocode, own])] == ["weather/search_locations"]


NAMES = st.sampled_from(
    ["GET /users/{id}", "GET /search/users", *"get_user find_users list_orders order geocode / 登录".split(), ""]
)
PARAMETERS = st.lists(st.sampled_from([*"id user_id orderIds query lat lon session_id".split(), "  "]), max_size=4)


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
    records = [tool(f"list_items_{'abcdefghij'[n % 10]}{n}", "item_id") for n in range(1_000)]
    records += [tool(f"search_items_{n}", "query") for n in range(1_000)]
    started = process_time()
    assert find_prerequisites(records)
    assert process_time() - started < 15


def answering(record: ToolRecord, *paths: str) -> ToolRecord:
    """The tool with an output that has these paths."""
    return replace(record, outputs=tuple(Parameter(path, "string") for path in paths))


FLIGHTS = tool("find_flights", "originSkyId", texts={"originSkyId": "Taken from the Search Airport API."})
BALANCE, REPLY = tool("get_balance", "employee_id"), tool("reply_to_thread", "thread_id")
REFUND = tool("refund", "purchase", texts={"purchase": "ID of the purchase."})
LISTING = replace(tool("listOrders"), links=(Link("purchase", "refund", "$response.body#/orders/0/id"),))


@pytest.mark.parametrize(
    ("needing", "resolver", "confidence", "evidence"),
    [
        (FLIGHTS, tool("searchAirport", "query"), 1.0, Evidence.MENTION),
        (REPLY, answering(tool("search_messages", "q"), "messages[].thread_id"), 0.75, Evidence.OUTPUT),
        (BALANCE, answering(tool("find_employees", "query"), "employees[].id"), 1.0, Evidence.OUTPUT),
        (BALANCE, answering(tool("find_employees", "query"), "employees[].name"), 0.7, Evidence.NAME),
        (REFUND, LISTING, 1.0, Evidence.LINK),
    ],
    ids=["mention", "an output of another name", "an output", "an output without an identifier", "link"],
)
def test_descriptions_outputs_and_links_of_the_document_are_evidence(
    needing: ToolRecord, resolver: ToolRecord, confidence: float, evidence: Evidence
) -> None:
    (edge,) = find_prerequisites([needing, resolver])
    assert (edge.needed, edge.confidence, edge.evidence) == (resolver.tool_id, confidence, evidence)


def test_a_link_to_a_value_of_the_request_or_of_a_tool_that_needs_the_same_is_no_evidence() -> None:
    echoing = replace(LISTING, links=(Link("purchase", "refund", "$request.query.purchase"),))
    same = replace(tool("get_refund", "purchase", texts={"purchase": "ID of the purchase."}), links=LISTING.links)
    assert find_prerequisites([REFUND, echoing]) == find_prerequisites([REFUND, same]) == ()


@pytest.mark.parametrize(
    ("named", "text"),
    [("get_project", "The same project id as in get_project."), ("delete_project", "Not the id of delete_project.")],
)
def test_a_named_tool_that_needs_the_same_does_not_give_it(named: str, text: str) -> None:
    needing = tool("update_project", "project_id", texts={"project_id": text})
    found = edges(needing, tool(named, "project_id"), tool("search_projects", "query"))
    assert "update_project(project_id) search_projects 1" in found
    assert {line.split()[1] for line in found} == {"search_projects"}


ANSWER = tool("reply_in_thread", "thread_ts", "text", provider="slack")
SEARCH = tool("search_messages", provider="slack")
NEED_STATED = make_expansion(requires=("the thread's timestamp",))
OFFER_STATED = make_expansion(provides=("a thread's timestamp by words of its messages",))


def test_what_the_model_says_makes_an_edge_where_schemas_and_names_make_none() -> None:
    assert find_prerequisites([ANSWER, SEARCH]) == ()
    (edge,) = find_prerequisites([ANSWER, SEARCH], {ANSWER.tool_id: NEED_STATED, SEARCH.tool_id: OFFER_STATED})
    assert (edge.parameter, edge.needed, edge.confidence) == ("thread_ts", "slack/search_messages", 0.7)
    assert edge.evidence is Evidence.MODEL


def test_the_model_alone_makes_no_tool_of_another_provider_or_one_that_writes_a_resolver() -> None:
    for other in (tool("search_messages", provider="teams"), tool("delete_messages", provider="slack")):
        stated = {ANSWER.tool_id: NEED_STATED, other.tool_id: OFFER_STATED}
        assert find_prerequisites([ANSWER, other], stated) == ()


def test_a_tool_that_the_schemas_show_wins_over_what_the_model_says() -> None:
    reply, listing = tool("reply", "thread_id", provider="slack"), tool("list_threads", provider="slack")
    stated = {SEARCH.tool_id: OFFER_STATED}
    assert [edge.needed for edge in find_prerequisites([reply, SEARCH, listing], stated)] == ["slack/list_threads"]
    assert [edge.needed for edge in find_prerequisites([reply, SEARCH], stated)] == ["slack/search_messages"]


def test_of_a_provider_with_a_changed_tool_only_that_tool_is_read_again() -> None:
    kept: dict[str, Any] = {}
    computed: list[list[str]] = []

    def keep(name: str, kind: Any, groups: Sequence[Sequence[ToolRecord]], compute: Compute) -> Sequence[Any]:
        keys = [f"{name} {group}" for group in groups]
        missing = [place for place, key in enumerate(keys) if key not in kept]
        computed.extend([name, *(record.name for record in groups[place])] for place in missing)
        kept.update(zip([keys[place] for place in missing], compute(missing), strict=True))
        return [kept[key] for key in keys]

    records = tools("get_deal(deal_id) search_deals(query) list_people()")
    find_prerequisites(records, keep=keep)
    computed.clear()
    changed = [records[0], replace(records[1], description="Other."), records[2]]
    assert find_prerequisites(changed, keep=keep) == find_prerequisites(changed) != ()
    assert computed == [["prerequisites", "get_deal", "list_people", "search_deals"], ["traits", "search_deals"]]
