"""The needs that a caller states beside a request: short lines of what it expects to call, such as "find a person"."""

import inspect
import logging
from collections.abc import Callable, Sequence

from router.errors import RequestInvalid, SettingsInvalid, quoted
from router.typed import converted

AskNeeds = Callable[[str], Sequence[str]]  # takes a request's text, and returns the needs that it supposes

MAX_NEEDS = 12  # each is encoded, which takes milliseconds
MAX_NEED = 300  # characters of one; what is longer is cut
_logger = logging.getLogger("router")


def clean_needs(needs: Sequence[str], request: str) -> tuple[str, ...]:
    """Return needs in order, white space collapsed, without those that say nothing or repeat another or the request.

    Raises RequestInvalid where more than MAX_NEEDS are left.
    """
    if len(cleaned := _distinct(needs, request)) > MAX_NEEDS:
        raise RequestInvalid(f"needs holds {len(cleaned)} needs, at most {MAX_NEEDS} may be", "needs")
    return cleaned


def first_needs(needs: Sequence[str], request: str) -> tuple[str, ...]:
    """Return what `clean_needs` does, of more than MAX_NEEDS the first."""
    return _distinct(needs, request)[:MAX_NEEDS]


def clean_need(need: str) -> str:
    """Return a need with its white space collapsed, cut to MAX_NEED characters, unpaired surrogates replaced."""
    return " ".join(need[: 4 * MAX_NEED].encode("utf-8", "replace").decode("utf-8").split())[:MAX_NEED].strip()


def check_ask_needs(ask: object) -> None:
    """Raise SettingsInvalid for what is neither None nor a callable that returns needs when it is called."""
    if not (ask is None or callable(ask)):
        raise SettingsInvalid(f"ask_needs is {quoted(ask)}, it must be callable")
    if inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(type(ask).__call__):
        raise SettingsInvalid(f"ask_needs is {quoted(ask)}, it must be callable without `await`: not an `async def`")


def supposed_needs(ask: AskNeeds, request: str) -> tuple[str, ...]:
    """Return what a callable supposes that a request needs; none where it raises, or returns no needs."""
    try:
        return first_needs(converted(ask(request), tuple[str, ...], error=RequestInvalid, whole="needs"), request)
    except Exception as error:  # noqa: BLE001 - a caller's own code, without which a request has its answer too
        # Not the message, which may quote the request.
        _logger.warning("ask_needs failed (%s): the request was routed without needs", type(error).__name__)
        return ()


def _distinct(needs: Sequence[str], request: str) -> tuple[str, ...]:
    seen, cleaned = {"", _key(request)}, []
    for text in map(clean_need, needs):
        if (key := _key(text)) not in seen:
            seen.add(key)
            cleaned.append(text)
    return tuple(cleaned)


def _key(text: str) -> str:
    """Return what texts that say the same share: their words, without case, hidden characters and final marks."""
    if not (text.isascii() and text.isprintable()):
        from router.tools.trust.characters import strip_hidden  # here: most requests are plain ASCII

        text = strip_hidden(text)
    return " ".join(text.casefold().split()).rstrip(".!?;, ")
