"""Keep the tools of a dialogue in place, so that the provider's prompt cache holds, and show what that saves.

    pip install .        (in a checkout of Quartermaster; nothing else is needed)
    python stable_prefix.py
    python stable_prefix.py .quartermaster/snapshots/demo        (a catalog that was built)

A prompt cache matches on a prefix, and tool definitions come first. The table compares the best tools of each turn,
chosen afresh, with a stable selection. A cached token counts as a tenth of a token, as with most providers.
"""

import sys
from collections.abc import Sequence

from router import Message, Router, StableSelection

K = 3  # tools that each turn asks for
CAPACITY = 8  # tools that a dialogue may hold
CACHED = 0.1  # the price of a cached token

DIALOGUE = [
    "which payments did Ada make this month",
    "give her half of the last one back",
    "send her a mail that says so",
    "and put a note about it on her ticket",
    "she paid twice, give the other payment back too",
    "mail her again",
]
TOOLS = {
    "list_payments": "List the payments of a customer, newest first.",
    "refund_payment": "Give a customer the money of a payment back, all of it or a part.",
    "create_invoice": "Write an invoice for a customer.",
    "send_mail": "Send a mail to a customer.",
    "search_mail": "Search the mail that a customer sent.",
    "note_ticket": "Put a note on a ticket.",
    "close_ticket": "Close a ticket.",
    "find_customer": "Find a customer by name.",
    "block_customer": "Block a customer who does not pay.",
    "ship_order": "Ship an order.",
    "cancel_order": "Cancel an order before it is shipped.",
    "count_stock": "Count how many of a product are in stock.",
}


def definitions() -> list[dict[str, object]]:
    """Return the tools as a provider's function schemas."""
    properties = {"customer": {"type": "string", "description": "Name or number."}, "details": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["customer"]}
    return [{"name": name, "description": text, "parameters": schema} for name, text in TOOLS.items()]


def chosen_afresh(router: Router, ids: Sequence[str], before: Sequence[str]) -> tuple[int, int]:
    """Return the tokens of some tools, and how many of them are cached: those that begin as the turn before did."""
    tokens = [(router.tokens(tool_id) or {})["openai"]["full"] for tool_id in ids]
    same = [one == other for one, other in zip(ids, before, strict=False)]
    return sum(tokens), sum(tokens[: [*same, False].index(False)])


def main(snapshot: str | None = None) -> None:
    """Go through the dialogue both ways, and print a line for each turn."""
    router = Router.open(snapshot) if snapshot else Router.from_tools(definitions())
    dialogue = StableSelection(router, k=K, capacity=CAPACITY, form="openai")
    messages: list[Message] = []
    before: Sequence[str] = ()
    paid = [0.0, 0.0]
    print(f"{'tokens of the tools, and of them cached':47} {'afresh':>11} {'stable':>11}")
    for said in DIALOGUE:
        messages.append({"role": "user", "content": said})
        turn = dialogue.select(messages)  # turn.render().tools go to the model
        afresh = router.route(messages, k=K).ids
        line = f"{said:47}"
        ways = chosen_afresh(router, afresh, before), (turn.tokens, turn.prefix_tokens)
        for way, (tokens, cached) in enumerate(ways):
            paid[way] += tokens - (1 - CACHED) * cached
            line += f" {tokens:>5} {cached:>5}"
        print(line, f"  new: {', '.join(turn.added) or 'none'}{'; some were evicted' if turn.evicted else ''}")
        dialogue.called(turn.routed.ids[0])  # what the model called stays for two turns
        before = afresh
    print(f"{'paid for':47} {paid[0]:>11.0f} {paid[1]:>11.0f}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
