"""What a tool needs that a person does not say."""

from collections.abc import Sequence

from router.record import ToolRecord
from router.tools.definitions.parameters import parameter_rows
from router.tools.lexicon.naming import parse_operation
from router.tools.prerequisites.kinds import NeedKind
from router.tools.prerequisites.needs import Need, find_needs
from tests.support.factories import make_record


def tool(name: str, *required: str, optional: Sequence[str] = (), **texts: str) -> ToolRecord:
    """A tool with string parameters."""
    properties = {p: {"type": "string", "description": texts.get(p, "")} for p in (*required, *optional)}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return make_record(name, input_schema=schema, parameters=parameter_rows(schema))


def needs(record: ToolRecord, **options: bool) -> list[tuple[str, NeedKind, tuple[str, ...]]]:
    found: tuple[Need, ...] = find_needs(record, parse_operation(record), **options)
    return [(need.parameter, need.kind, need.noun) for need in found]


def test_a_required_identifier_is_needed_and_an_optional_one_is_not() -> None:
    found = needs(tool("get_balance", "employee_id", optional=["manager_id"]))
    assert found == [("employee_id", NeedKind.IDENTIFIER, ("employee",))]


def test_words_that_a_person_says_are_not_needed() -> None:
    assert needs(tool("find_flights", "origin", "destination", "date", "username_or_id")) == []


def test_a_bare_id_is_that_of_the_object() -> None:
    assert needs(tool("updateContact", "id")) == [("id", NeedKind.IDENTIFIER, ("contact",))]


def test_the_placeholders_of_a_path_are_needed_even_where_no_parameter_is_told() -> None:
    found = needs(make_record("GET /person/{person_id}/movie_credits"))
    assert found == [("person_id", NeedKind.IDENTIFIER, ("person",))]


def test_a_placeholder_that_a_person_says_is_not_needed() -> None:
    assert needs(make_record("GET /repos/{owner}/{repo}/issues")) == []


def test_a_nested_identifier_is_needed_where_all_around_it_is_required() -> None:
    inner = {"type": "object", "properties": {"stationId": {"type": "string"}}, "required": ["stationId"]}
    schema = {"type": "object", "properties": {"pathParams": inner}, "required": ["pathParams"]}
    record = make_record("radar_station", input_schema=schema, parameters=parameter_rows(schema))
    assert needs(record) == [("pathParams.stationId", NeedKind.IDENTIFIER, ("station",))]
    optional = {**schema, "required": []}
    assert needs(make_record("radar_station", input_schema=optional, parameters=parameter_rows(optional))) == []


def test_a_description_tells_an_identifier_that_is_named_otherwise() -> None:
    found = needs(tool("createRefund", "charge", charge="The ID of the charge to refund."))
    assert found == [("charge", NeedKind.IDENTIFIER, ("charge",))]


def test_an_identifier_that_the_caller_invents_is_not_needed() -> None:
    assert needs(tool("create_test", "test_id")) == []


def test_listed_values_and_credentials_are_not_needed() -> None:
    schema = {
        "type": "object",
        "properties": {"region_id": {"type": "string", "enum": ["eu", "us"]}, "client_id": {"type": "string"}},
        "required": ["region_id", "client_id"],
    }
    assert needs(make_record("get_quota", input_schema=schema, parameters=parameter_rows(schema))) == []


def test_latitude_and_longitude_are_one_need() -> None:
    assert needs(tool("get_forecast", "latitude", "longitude")) == [
        ("latitude", NeedKind.COORDINATES, ("coordinates",))
    ]
    assert needs(tool("get_sunrise", "latitude")) == []


def test_a_session_is_a_need_of_its_own() -> None:
    assert needs(tool("read_mail", "session_id")) == [("session_id", NeedKind.SESSION, ("session",))]


def test_every_identifier_counts_for_a_provider_that_marks_nothing() -> None:
    schema = {"type": "object", "properties": {"person_id": {"type": "string"}}}
    record = make_record("get_person_films", input_schema=schema, parameters=parameter_rows(schema))
    assert needs(record) == []
    assert needs(record, marks_required=False) == [("person_id", NeedKind.IDENTIFIER, ("person",))]
