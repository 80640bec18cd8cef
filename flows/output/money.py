"""US dollars as people read them."""


def dollars(cost: float | None, unknown: str = "price unknown") -> str:
    """An amount with as many places as it needs; `unknown` where there is no price."""
    return unknown if cost is None else f"${cost:,.4f}" if cost < 10 else f"${cost:,.2f}"
