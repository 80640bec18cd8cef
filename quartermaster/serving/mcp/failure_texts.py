"""The words of an upstream's failure for logs and models: no address, no arguments, no hidden characters."""

from mcp import MCPError

from quartermaster.serving.mcp.upstream import UpstreamFailed
from router.tools.trust.characters import strip_hidden

_MAX_MESSAGE = 300  # characters


def printable(text: str) -> str:
    """Return a server's text for use in a message: one line, bounded, without invisible characters."""
    text = " ".join(strip_hidden(text[: 4 * _MAX_MESSAGE]).split())
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…"


def cause_of(error: BaseException) -> BaseException:
    """Return the first exception inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def reason_of(error: BaseException) -> str:
    """Return the reason of an error, without the address or the arguments, which may hold secrets."""
    cause = cause_of(error)
    if isinstance(cause, FileNotFoundError):
        return "there is no such program beside this Python or on PATH"
    return printable(str(cause)) if isinstance(cause, MCPError | UpstreamFailed) else type(cause).__name__
