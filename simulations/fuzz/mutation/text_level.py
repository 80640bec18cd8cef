"""Mutations of texts."""

from random import Random

from simulations.fuzz.mutation.values import nasty_text

_LONGEST = 200_000


def mutate_text(text: str, random: Random) -> str:
    """Return a text after one mutation: a part inserted, doubled, cut, turned or written in another case."""
    kind = random.randrange(7)
    at = random.randint(0, len(text))
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + nasty_text(random) + text[at:]
    if kind == 2:
        return (text * random.choice((2, 10, 400)))[:_LONGEST]
    if kind == 3:
        return text[::-1]
    if kind == 4:
        return text.swapcase()
    if kind == 5:
        return text[:at] + chr(random.choice((random.randrange(128), random.randrange(0x110000)))) + text[at + 1 :]
    return nasty_text(random)
