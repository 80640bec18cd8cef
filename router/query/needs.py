"""The needs that a caller states beside a request: short lines of what it expects to call, such as "find a person"."""

from collections.abc import Sequence

from router.errors import RequestInvalid

MAX_NEEDS = 12  # each is encoded, which takes milliseconds
MAX_NEED = 300  # characters of one; what is longer is cut


def clean_needs(needs: Sequence[str], request: str) -> tuple[str, ...]:
    """Return needs in their order, white space collapsed, without those that are blank or repeat another or a request.

    Raises RequestInvalid where more than MAX_NEEDS are left.
    """
    seen, cleaned = {_key(request)}, []
    for need in needs:
        text = clean_need(need)
        if text and _key(text) not in seen:
            seen.add(_key(text))
            cleaned.append(text)
    if len(cleaned) > MAX_NEEDS:
        raise RequestInvalid(f"needs holds {len(cleaned)} needs, at most {MAX_NEEDS} may be")
    return tuple(cleaned)


def clean_need(need: str) -> str:
    """Return a need with its white space collapsed, cut to MAX_NEED characters, unpaired surrogates replaced."""
    return " ".join(need[: 4 * MAX_NEED].encode("utf-8", "replace").decode("utf-8").split())[:MAX_NEED].strip()


def _key(text: str) -> str:
    """Return what two texts have in common that say the same: their words, without case and marks at the end."""
    return " ".join(text.casefold().split()).rstrip(".!?;, ")
