"""Functions as tools: their names, descriptions and parameters."""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pydantic
import pytest

from router.errors import RecordRejected
from router.record import Parameter
from router.tools.functions.signatures import function_tool

if TYPE_CHECKING:
    from collections.abc import Callable


def search(query: str, limit: int = 10, *words: str, strict: bool = False, **more: Any) -> list[str]:
    """Search the documents.

    Args:
        query: What to look for.
        limit: How many.
    """
    raise NotImplementedError(query, limit, words, strict, more)


class Mailbox:
    """A mailbox."""

    def send(self, to: str, ctx: Any, urgent: "bool" = False) -> None:
        """Send a mail."""

    @classmethod
    def count(cls, label: str) -> int:
        """Count the mails."""
        raise NotImplementedError(label)

    @staticmethod
    def clean(text: str) -> str:
        """Clean a text."""
        return text


class Weather:
    """Says the weather."""

    def __call__(self, city: str) -> str:
        """Ask.

        Args:
            city: Where.
        """
        return city


@dataclass
class Ticket:
    title: str
    urgent: bool = False


def test_a_function_is_a_tool_of_its_name_docstring_and_annotations() -> None:
    tool = function_tool(search)
    assert (tool.name, tool.description) == ("search", "Search the documents.")
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "limit": {"type": "integer", "default": 10, "description": "How many."},
            "strict": {"type": "boolean", "default": False},
        },
        "required": ["query"],
    }

    @functools.wraps(search)
    def logged(*args: Any, **kwargs: Any) -> Any:
        return search(*args, **kwargs)

    assert function_tool(logged) == function_tool(search)  # what a decorator wraps


class RunContext:
    """As frameworks have it."""


async def contextual(context: RunContext, other: "RunContext", ctx: Any, text: str) -> None: ...


def plain(context: str) -> None: ...


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (Mailbox().send, ["to", "urgent"]),
        (Mailbox.send, ["to", "urgent"]),
        (Mailbox.count, ["label"]),
        (Mailbox.clean, ["text"]),
        (contextual, ["text"]),
        (plain, ["context"]),
    ],
    ids=["method", "method of a class", "class method", "static method", "contexts", "a name alone"],
)
def test_neither_self_nor_what_a_framework_fills_in_is_asked_for(function: Any, names: list[str]) -> None:
    assert list(function_tool(function).input_schema["properties"]) == names


def test_what_a_partial_has_bound_is_neither_asked_for_nor_shown() -> None:
    def pay(key: str, amount: int, currency: str = "EUR") -> None:
        """Pay."""

    for bound in (functools.partial(pay, "sk_secret"), functools.partial(pay, key="sk_secret")):
        tool = function_tool(bound)
        assert (tool.name, tool.description) == ("pay", "Pay.")
        assert list(tool.input_schema["properties"]) == ["amount", "currency"]
        assert "sk_secret" not in str(tool)


def test_an_object_that_is_called_is_a_tool_of_its_class_and_a_class_one_of_its_fields() -> None:
    weather, ticket = function_tool(Weather()), function_tool(Ticket)
    assert (weather.name, weather.description) == ("Weather", "Says the weather.")
    assert weather.input_schema["properties"] == {"city": {"type": "string", "description": "Where."}}
    assert (ticket.name, ticket.description) == ("Ticket", "")
    assert ticket.input_schema["required"] == ["title"]


def test_annotations_fields_docstring_and_defaults_say_what_a_parameter_takes() -> None:
    def draw(  # type: ignore[no-untyped-def]
        by_docstring,
        by_default=3,
        by_nothing=None,
        left_out: int | None = None,
        several: Annotated[str | int | None, "Said."] = None,
        null: int | None = 5,
        field: int = pydantic.Field(7, description="Said."),
        needed: str = pydantic.Field(description="Said."),
        annotated: Annotated[int, pydantic.Field(description="Said.")] = 1,
        endless: float = float("inf"),  # JSON cannot say it
        unknown: "Callable[..., int]" = search,  # type: ignore[assignment]
    ) -> None:
        """Draw.

        :param float by_docstring: Where.
        """

    tool = function_tool(draw)
    assert tool.input_schema["properties"] == {
        "by_docstring": {"type": "number", "description": "Where."},
        "by_default": {"type": "integer", "default": 3},
        "by_nothing": {},
        "left_out": {"type": "integer"},
        "several": {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "Said."},
        "null": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 5},
        "field": {"type": "integer", "default": 7, "description": "Said."},
        "needed": {"type": "string", "description": "Said."},
        "annotated": {"type": "integer", "description": "Said.", "default": 1},
        "endless": {"type": "number"},
        "unknown": {},
    }
    assert tool.input_schema["required"] == ["by_docstring", "needed"]
    assert tool.notices == ("unknown: JSON has no form for Callable[..., int], any value is taken",)


class Customer(TypedDict):
    """A customer."""

    id: Annotated[str, "Its id."]


@dataclass
class Page:
    customers: list[Customer]


@pytest.mark.parametrize(
    ("hint", "paths"),
    [
        (Customer, ["id"]),
        ("Page", ["customers", "customers[].id"]),
        (Customer | None, ["id"]),
        (list[Customer], ["[].id"]),
        (str, []),
        (dict[str, int], []),
        ("Unknown", []),
    ],
)
def test_a_class_with_fields_that_a_function_returns_is_its_output(hint: Any, paths: list[str]) -> None:
    def find() -> None:
        """Find it."""

    find.__annotations__["return"] = hint
    outputs = function_tool(find).outputs
    assert [output.path for output in outputs] == paths
    assert hint is not Customer or outputs == (Parameter("id", "string", "Its id.", required=True),)


def test_what_has_no_name_or_no_signature_is_refused() -> None:
    with pytest.raises(RecordRejected, match="a lambda has no name: write it as a function, with `def`"):
        function_tool(lambda city: city)
    with pytest.raises(RecordRejected, match="no signature that Python can read"):
        function_tool(dict.update)
