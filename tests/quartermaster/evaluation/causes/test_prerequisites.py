"""Which tool gives what another needs, by their schemas."""

import pytest

from quartermaster.evaluation.causes.missed_step import ToolText
from quartermaster.evaluation.causes.rules import resolved_parameter
from router.record import Parameter
from tests.support.factories import make_record


def text(name: str, *parameters: Parameter, provider: str | None = "acme") -> ToolText:
    """A tool's text, without phrases."""
    return ToolText(make_record(name, provider, parameters=parameters), ())


def needs(path: str, description: str = "") -> Parameter:
    """A required parameter."""
    return Parameter(path, "string", description, required=True)


ID, OPTIONAL = needs("customer_id"), Parameter("customer_id", "string")
SEARCH = text("search_customers")


@pytest.mark.parametrize(
    ("needing", "given", "resolved"),
    [
        (text("update_customer", ID), SEARCH, "customer_id"),
        (text("update_customer", needs("target.customerId")), text("listCustomers"), "target.customerId"),
        (text("delete_customer", needs("id")), text("find_customer"), "id"),
        (text("add_agenda", needs("token")), text("GetUserToken"), "token"),
        (
            text("find_flights", needs("originCode", "Taken from the Search Airport API.")),
            text("SearchAirport"),
            "originCode",
        ),
        (text("update_customer", needs("customer_name")), SEARCH, None),  # a person says it
        (text("update_customer", ID), text("search_orders"), None),
        (text("update_customer", ID), text("get_customer", ID), None),  # it needs the same
        (text("update_customer", ID), text("search_customers", provider="other"), None),
        # Optional identifiers count only where no parameter is marked as required.
        (text("update_customer", OPTIONAL), SEARCH, "customer_id"),
        (text("update_customer", OPTIONAL, needs("name")), SEARCH, None),
    ],
)
def test_a_tool_gives_the_identifier_that_its_name_or_the_parameter_says(
    needing: ToolText, given: ToolText, resolved: str | None
) -> None:
    assert resolved_parameter(needing, given) == resolved
