"""How an API operation is called: where each argument of a tool goes in an HTTP request.

A build reads it from an OpenAPI document. It lies beside the record in a snapshot, and only `quartermaster.calling`
reads it. All of it is the document's own word: it never says where a secret may be sent.
"""

from collections.abc import Mapping
from sys import intern
from typing import Any, Literal

import msgspec

Place = Literal["path", "query", "header", "cookie"]
Style = Literal[
    "simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject", "cookie"
]


class OperationParameter(msgspec.Struct, frozen=True, omit_defaults=True):
    """A parameter of an operation.

    Attributes:
        argument: The property of the tool's input schema that gives its value.
        place: The part of the request that it goes into.
        name: Its name there; empty where that is the argument's.
        style: How lists and objects are written, as OpenAPI names it; `tabDelimited` is Swagger's `tsv`.
        explode: Whether each item or property is written on its own.
        allow_reserved: Whether a query's value keeps reserved characters that cannot end it.
        media_type: The media type of a value that is written as a document, such as JSON; empty where `style` says how.
    """

    argument: str
    place: Place
    name: str = ""
    style: Style = "simple"
    explode: bool = False
    allow_reserved: bool = False
    media_type: str = ""

    def __post_init__(self) -> None:
        """Share the text of a style: msgspec omits a default by its identity, which a pickled text has not."""
        msgspec.structs.force_setattr(self, "style", intern(self.style))

    @property
    def wire_name(self) -> str:
        """Return its name in the request."""
        return self.name or self.argument


class BodyField(msgspec.Struct, frozen=True, omit_defaults=True):
    """A property of a body that is an argument of its own.

    Attributes:
        argument: The property of the tool's input schema that gives its value.
        name: Its name in the body; empty where that is the argument's.
        style: How a form writes it; empty where the form's own rule holds: lists item by item, objects as JSON.
        explode: Whether each item or property is written on its own.
        media_type: The media type of its part in a multipart form; empty where its value decides.
        is_file: Whether a multipart form sends it as a file.
    """

    argument: str
    name: str = ""
    style: Style | Literal[""] = ""
    explode: bool = False
    media_type: str = ""
    is_file: bool = False

    @property
    def wire_name(self) -> str:
        """Return its name in the body."""
        return self.name or self.argument


class OperationBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a request: one argument as a whole, or an object of several.

    Attributes:
        media_type: What the document declares, such as `application/json`; empty where it declares none.
        argument: The argument that is the body as a whole; empty where `fields` make it up.
        fields: The arguments that make it up.
        required: Whether the document says that a request must have one.
    """

    media_type: str
    argument: str = ""
    fields: tuple[BodyField, ...] = ()
    required: bool = False


class SecurityScheme(msgspec.Struct, frozen=True, omit_defaults=True):
    """A way to authenticate that the document declares: information for the author of the settings.

    Attributes:
        key: Its key in the document.
        type: `apiKey`, `http`, `oauth2`, `openIdConnect`, `mutualTLS`, or Swagger's `basic`.
        name: The name of the header, query parameter or cookie of an API key.
        place: Where an API key goes.
        scheme: The scheme of HTTP authentication, such as `bearer`.
        token_url: Where the document says that tokens are. Nothing is ever sent there because of it.
    """

    key: str
    type: str
    name: str = ""
    place: str = ""
    scheme: str = ""
    token_url: str = ""


class Operation(msgspec.Struct, frozen=True, omit_defaults=True):
    """An operation of an HTTP API.

    Attributes:
        method: In upper case.
        path: The path template, such as `/flows/{id}`.
        servers: The addresses that the document gives, defaults put in for variables; they may be relative to it.
        has_own_servers: Whether they are the path's or the operation's, not the whole document's.
        parameters: Where each argument outside of the body goes.
        body: The body of the request; None where there is none.
        security: The ways to authenticate of which one is enough, each a list of keys of `schemes`.
        schemes: The schemes that `security` names.
    """

    method: str
    path: str
    servers: tuple[str, ...] = ()
    has_own_servers: bool = False
    parameters: tuple[OperationParameter, ...] = ()
    body: OperationBody | None = None
    security: tuple[tuple[str, ...], ...] = ()
    schemes: tuple[SecurityScheme, ...] = ()

    @property
    def is_read_only(self) -> bool:
        """Return whether its method promises to change nothing."""
        return self.method in ("GET", "HEAD")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict without what is as by default, of which `from_json` makes an equal operation."""
        row: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))  # with lists, as JSON has no tuples
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Operation":
        """Return the operation of a dict that `to_json` made. Raises TypeError for any other."""
        try:
            return msgspec.convert(row, cls)
        except msgspec.ValidationError as error:
            raise TypeError(f"it is not an operation: {error}") from None
