"""The settings of an upstream: an MCP server at which a catalog's tools are called."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from router.errors import QuartermasterError
from router.record import ToolRecord

_Limit = Annotated[int, Meta(ge=1)]


class UpstreamFailed(QuartermasterError):
    """Raised when a tool cannot be called at its own server; the message gives the reason and a remedy."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a server may cost, and how it is spoken to. `timeout_s` bounds each answer and each whole list, in seconds.

    Of a longer list, the first `max_tools` serve. A list of more than `max_pages` pages or `max_list_bytes`, and a
    message of more than `max_message_bytes`, are failures. Without `may_ask`, the server learns that nobody answers
    its questions.

    `protocol` is the year of the protocol that is spoken with it: "auto" is 2025 where the server has that, else 2026.
    """

    timeout_s: Annotated[float, Meta(gt=0, le=3600)] = 30.0
    max_tools: _Limit = 1_000
    max_pages: _Limit = 1_000
    max_list_bytes: _Limit = 33_554_432
    max_message_bytes: _Limit = 16_777_216
    may_ask: bool = True
    protocol: Literal["auto", "2025", "2026"] = "auto"


class Upstream(Bounds, frozen=True):
    """A server: a `command` over stdio, run in `folder`, or a `url` over streamable HTTP.

    `provider` is the label of its tools in the catalog; without it, they are recognised by `place`, the origin that
    the build recorded. `environment` is added to the few variables that a command gets (PATH, HOME, …), `headers` go
    with each request to a url; both may hold secrets, so no message contains them. `auth`, an httpx2.Auth,
    authenticates requests. Of the tools that it lists, those that `offers` refuses by name are left out.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    provider: str | None = None
    place: str = ""
    folder: Path | None = None
    environment: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    auth: Any = None
    offers: Callable[[str], bool] | None = None

    def __repr__(self) -> str:
        return f"Upstream({self.name!r})"  # the rest may hold secrets

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return what rich's tracebacks may show."""
        return [("name", self.name)]

    def serves(self, record: ToolRecord) -> bool:
        """Return whether a tool of the catalog is one of this server's."""
        return record.provider == self.provider if self.provider else record.origin.file == self.place
