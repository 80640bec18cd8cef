"""What the API takes and answers, as types: a value out of bounds is refused before anything is routed.

Their names, docstrings and descriptions are published in the OpenAPI document. An answer, its tools and records are the
router's own classes.
"""

import re
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.exceptions import HTTPException
from starlette.requests import Request

from quartermaster.serving import ServedOptions
from router.answer.results import RoutedTools
from router.contract import Signal
from router.errors import SettingsInvalid
from router.feedback import Outcome
from router.record import ToolRecord
from router.search.search import MAX_REQUEST
from router.typed import converted

_Body = TypeVar("_Body", bound=msgspec.Struct)

_MAX_REQUESTS = 64  # of one route-many; also messages of one dialogue
_MAX_TOOLS = 1_000  # of all answers of one route-many; also of one source
_JSON = re.compile(r"application/([\w.-]+\+)?json\b", re.IGNORECASE)

# A request, or a message, is not blank.
Text = Annotated[str, Meta(max_length=MAX_REQUEST, pattern=r"\S")]
Name = Annotated[str, Meta(max_length=512, pattern=r"\S")]


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message of a dialogue, as chat APIs have them; what the user said is what is routed by."""

    content: Annotated[str, Meta(max_length=MAX_REQUEST)]
    role: Literal["user", "assistant", "system", "developer", "tool"] = "user"


_Dialogue = Annotated[list[Text | Message], Meta(min_length=1, max_length=_MAX_REQUESTS)]


class _Rendered(ServedOptions, frozen=True, kw_only=True):
    strict: Annotated[
        bool, Meta(description="Mark the tools that OpenAI's strict mode can take. With `form`; `rendered` has them.")
    ] = False


class RouteRequest(_Rendered, frozen=True, kw_only=True):
    """What should be done, and how the answer is to be."""

    request: Annotated[
        Text | _Dialogue, Meta(description="A request, or recent messages, oldest first: the latest counts most.")
    ]

    def messages(self) -> str | list[str | dict[str, str]]:
        """Return the request, a text or a dialogue, as `Router.route` takes it."""
        if isinstance(self.request, str):
            return self.request
        return [turn if isinstance(turn, str) else msgspec.structs.asdict(turn) for turn in self.request]

    def texts(self) -> list[str]:
        """Return the texts of the request, oldest first."""
        turns = [self.request] if isinstance(self.request, str) else self.request
        return [turn if isinstance(turn, str) else turn.content for turn in turns]


class RouteManyRequest(_Rendered, frozen=True, kw_only=True):
    """Several requests with the same options, answered by one snapshot."""

    requests: Annotated[list[Text], Meta(min_length=1, max_length=_MAX_REQUESTS)]
    needs: Annotated[
        tuple[tuple[str, ...], ...] | None,
        Meta(description="A list for each request, as `/v1/route` takes it; or none."),
    ] = None  # type: ignore[assignment]  # a list more than one request has

    def __post_init__(self) -> None:
        # 64 answers of 128 rendered tools are 17 MB and five seconds of a core.
        always = len(self.selection.always) if self.selection else 0
        if (tools := len(self.requests) * (self.k + always)) > _MAX_TOOLS:
            beside = f" and {always:,} in `always`" if always else ""
            demand = f"{len(self.requests)} requests of k = {self.k}{beside} ask for {tools:,} tools"
            raise SettingsInvalid(f"{demand}; the limit is {_MAX_TOOLS:,}")


class Feedback(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What became of a tool that an answer offered to this caller."""

    request_id: Annotated[str, Meta(pattern="^[0-9a-f]{32}$", description="`request_id` of the answer.")]
    tool_id: Name
    outcome: Annotated[Outcome, Meta(description="Whether the tool was called, and how that went; or why it was not.")]


class Tools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tools as their vendor defines them: OpenAI's functions, Anthropic's tools, an MCP server's list."""

    tools: Annotated[list[dict[str, Any]], Meta(max_length=_MAX_TOOLS)]


class Page(msgspec.Struct, frozen=True):
    """Which tools a page has."""

    after: Annotated[str, Meta(max_length=512, description="Continue after this id: `next` of the page before.")] = ""
    limit: Annotated[int, Meta(ge=1, le=500, description="The most tools of a page.")] = 50


class Answers(msgspec.Struct):
    """An answer a request, in their order."""

    answers: list[RoutedTools]


class ToolPage(msgspec.Struct):
    """Tools by id; `next` is what to give as `after` for those behind them, null at the end."""

    tools: list[ToolRecord]
    next: str | None
    total: int


class Snapshot(msgspec.Struct, kw_only=True):
    """What serves: the essentials of the snapshot's manifest."""

    snapshot: str
    catalog: str
    created_at: str
    tools: int
    signals: list[Signal]
    languages: list[str]
    encoder: str | None
    recipe: str
    token_counter: str
    counts: dict[str, int]
    generators: dict[str, int]


class Changed(msgspec.Struct):
    """The ids that a change registered, and how many tools are served after it."""

    registered: list[str]
    tools: int


class Health(msgspec.Struct):
    """`status` is "ok"; the snapshot where one serves."""

    status: str
    snapshot: str | None
    stale: Annotated[
        bool | UnsetType | None,
        Meta(description="Of /readyz: whether what serves is not known to be the newest; null where nothing looks."),
    ] = UNSET


class Problem(msgspec.Struct):
    """Why it cannot be done: `message` for people, `type` for programs, `field` where one is wrong."""

    type: str
    message: str
    field: str | UnsetType = UNSET


class Failure(msgspec.Struct):
    """The one shape of everything that goes wrong."""

    error: Problem


async def body_of(request: Request, kind: type[_Body]) -> _Body:
    """Return a request's body. Raises HTTPException if it is not JSON, SettingsInvalid for a wrong value."""
    if not _JSON.match(request.headers.get("content-type", "")):
        raise HTTPException(415, "the request does not say that its body is JSON: send Content-Type: application/json")
    try:
        value = _DECODER.decode(await request.body())
    except RecursionError:
        raise HTTPException(400, "the body cannot be read: it is nested too deep") from None
    except ValueError as error:
        raise HTTPException(400, f"the body is not valid JSON: {error}") from None
    return converted(value, kind, whole="the body")


def _number(text: str) -> float:
    # JSON has one kind of number: 10.0 is a whole one.
    number = float(text)
    return int(number) if number.is_integer() else number


_DECODER = msgspec.json.Decoder(float_hook=_number)
