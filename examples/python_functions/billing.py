"""Two functions that a build reads as tools: `quartermaster build examples/python_functions --allow-commands`."""

from datetime import date


def refund_charge(charge: str, amount: int, on: date | None = None) -> str:
    """Give the money of a charge back to the customer.

    Args:
        charge: The id of the charge.
        amount: How much, in cents.
        on: The day of the refund; today by default.
    """
    return f"refunded {amount} of {charge} on {on or date.today()}"


def list_charges(customer: str, limit: int = 10) -> list[str]:
    """List the charges of a customer, the latest first."""
    return [f"{customer}-{number}" for number in range(limit)]
