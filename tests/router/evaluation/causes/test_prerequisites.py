"""Which tool gives what another needs, by their schemas."""

import pytest

from router.evaluation.causes.prerequisites import resolved_parameter
from router.evaluation.causes.tool_texts import ToolText
from router.record import Parameter
from tests.support.factories import make_record


def text(name: str, *parameters: Parameter, provider: str | None = "acme") -> ToolText:
    """A tool's text, without phrases."""
    return ToolText(make_record(name, provider, parameters=parameters), ())


def needs(path: str, description: str = "") -> Parameter:
    """A required parameter."""
    return Parameter(path, "string", description, required=True)


@pytest.mark.parametrize(
    ("needing", "parameter", "given"),
    [
        ("update_customer", needs("customer_id"), "search_customers"),
        ("update_customer", needs("target.customerId"), "listCustomers"),
        ("delete_customer", needs("id"), "find_customer"),
        ("add_agenda", needs("token"), "GetUserToken"),
        ("find_flights", needs("originCode", "Taken from the Search Airport API."), "SearchAirport"),
    ],
)
def test_a_tool_gives_the_identifier_that_its_name_or_the_parameter_says(
    needing: str, parameter: Parameter, given: str
) -> None:
    assert resolved_parameter(text(needing, parameter), text(given)) == parameter.path


@pytest.mark.parametrize(
    ("parameter", "given"),
    [
        (needs("customer_name"), text("search_customers")),  # a person says it
        (needs("customer_id"), text("search_orders")),
        (needs("customer_id"), text("get_customer", needs("customer_id"))),  # it needs the same
        (needs("customer_id"), text("search_customers", provider="other")),
    ],
)
def test_other_tools_give_nothing(parameter: Parameter, given: ToolText) -> None:
    assert resolved_parameter(text("update_customer", parameter), given) is None


def test_optional_identifiers_count_only_where_no_parameter_is_marked_as_required() -> None:
    optional = Parameter("customer_id", "string")
    assert resolved_parameter(text("update_customer", optional), text("search_customers")) == "customer_id"
    assert resolved_parameter(text("update_customer", optional, needs("name")), text("search_customers")) is None
