"""What a tool needs that a person does not say."""

from typing import Any

import pytest

from router.record import ToolRecord
from router.tools.naming import parse_operation
from router.tools.prerequisites import NeedKind
from router.tools.prerequisites.needs import find_needs, stated_thing
from tests.router.tools.prerequisites.making import tool
from tests.support.factories import make_record


def needs(record: ToolRecord, **options: bool) -> list[tuple[str, NeedKind, str]]:
    found = find_needs(record, parse_operation(record), **options)
    return [(need.parameter, need.kind, " ".join(need.noun)) for need in found]


def nested(*required: str) -> dict[str, Any]:
    """The schema of an identifier in an object."""
    inner = {"type": "object", "properties": {"stationId": {"type": "string"}}, "required": ["stationId"]}
    return {"type": "object", "properties": {"pathParams": inner}, "required": [*required]}


LISTED = {
    "type": "object",
    "properties": {"region_id": {"type": "string", "enum": ["eu", "us"]}, "client_id": {"type": "string"}},
    "required": ["region_id", "client_id"],
}


@pytest.mark.parametrize(
    ("record", "parameter", "noun"),
    [
        (tool("get_balance", "employee_id", optional=["manager_id"]), "employee_id", "employee"),
        (tool("updateContact", "id"), "id", "contact"),
        (make_record("GET /person/{person_id}/movie_credits"), "person_id", "person"),
        (tool("radar_station", schema=nested("pathParams")), "pathParams.stationId", "station"),
        (tool("createRefund", "charge", texts={"charge": "The ID of the charge to refund."}), "charge", "charge"),
    ],
    ids=["required", "of the object", "placeholder", "nested", "told"],
)
def test_a_required_identifier_is_needed(record: ToolRecord, parameter: str, noun: str) -> None:
    assert needs(record) == [(parameter, NeedKind.IDENTIFIER, noun)]


@pytest.mark.parametrize(
    "record",
    [
        tool("find_flights", "origin", "destination", "date", "username_or_id"),
        make_record("GET /repos/{owner}/{repo}/issues"),  # placeholders of words
        tool("radar_station", schema=nested()),  # in what is optional
        tool("create_test", "test_id"),  # invented
        tool("get_quota", schema=LISTED),  # listed, or a credential
        tool("get_sunrise", "latitude"),  # half a place
    ],
    ids=lambda record: record.name,
)
def test_what_a_person_says_or_the_caller_has_is_not_needed(record: ToolRecord) -> None:
    assert needs(record) == []


def test_latitude_and_longitude_are_one_need_and_a_session_is_a_need_of_its_own() -> None:
    where = ("latitude", NeedKind.COORDINATES, "coordinates")
    assert needs(tool("get_forecast", "latitude", "longitude")) == [where]
    assert needs(tool("read_mail", "session_id")) == [("session_id", NeedKind.SESSION, "session")]


def test_every_identifier_counts_for_a_provider_that_marks_nothing() -> None:
    record = tool("get_person_films", optional=["person_id"])
    assert needs(record) == []
    assert needs(record, marks_required=False) == [("person_id", NeedKind.IDENTIFIER, "person")]


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
