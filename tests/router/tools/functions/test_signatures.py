"""Functions as tools: their names, descriptions and parameters."""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pydantic
import pytest

from router.errors import RecordRejected
from router.record import Parameter
from router.tools.definitions import record_of
from router.tools.functions.signatures import function_tool

if TYPE_CHECKING:
    from collections import OrderedDict


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


class RunContext:
    """As frameworks have it."""


def parameters(function: Any) -> dict[str, Any]:
    found: dict[str, Any] = function_tool(function).definition["parameters"]
    return found


def test_a_function_is_a_tool_of_its_name_docstring_and_annotations() -> None:
    assert function_tool(search).definition == {
        "name": "search",
        "description": "Search the documents.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for."},
                "limit": {"type": "integer", "default": 10, "description": "How many."},
                "strict": {"type": "boolean", "default": False},
            },
            "required": ["query"],
        },
    }

    @functools.wraps(search)
    def logged(*args: Any, **kwargs: Any) -> Any:
        return search(*args, **kwargs)

    assert function_tool(logged) == function_tool(search)  # what a decorator wraps


def contextual(context: RunContext, other: "RunContext", ctx: Any, text: str) -> None: ...


def plain(context: str) -> None: ...


async def now() -> None: ...


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (Mailbox().send, ["to", "urgent"]),
        (Mailbox.send, ["to", "urgent"]),
        (Mailbox.count, ["label"]),
        (Mailbox.clean, ["text"]),
        (contextual, ["text"]),
        (plain, ["context"]),
        (now, []),
    ],
    ids=["method", "method of a class", "class method", "static method", "contexts", "a name alone", "async"],
)
def test_neither_self_nor_what_a_framework_fills_in_is_asked_for(function: Any, names: list[str]) -> None:
    assert list(parameters(function)["properties"]) == names


def test_what_a_partial_has_bound_is_neither_asked_for_nor_shown() -> None:
    def pay(key: str, amount: int, currency: str = "EUR") -> None:
        """Pay."""

    for bound in (functools.partial(pay, "sk_secret"), functools.partial(pay, key="sk_secret")):
        tool = function_tool(bound)
        assert (tool.definition["name"], tool.definition["description"]) == ("pay", "Pay.")
        assert list(tool.definition["parameters"]["properties"]) == ["amount", "currency"]
        assert "sk_secret" not in str(tool)


def test_an_object_that_is_called_is_a_tool_of_its_class_and_a_class_one_of_its_fields() -> None:
    weather, ticket = function_tool(Weather()).definition, function_tool(Ticket).definition
    assert (weather["name"], weather["description"]) == ("Weather", "Says the weather.")
    assert weather["parameters"]["properties"] == {"city": {"type": "string", "description": "Where."}}
    assert (ticket["name"], ticket["description"]) == ("Ticket", "")
    assert ticket["parameters"]["required"] == ["title"]


def test_a_parameter_that_may_be_none_is_left_out_instead() -> None:
    def find(a: int | None = None, b: Annotated[str | int | None, "B."] = None, c: int | None = 5) -> None: ...

    assert parameters(find)["properties"] == {
        "a": {"type": "integer"},
        "b": {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "B."},
        "c": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 5},
    }


def test_without_annotations_docstring_and_defaults_say_the_type() -> None:
    def draw(x, y, size=3, label=None):  # type: ignore[no-untyped-def]
        """Draw.

        :param float x: Where.
        """

    assert parameters(draw)["properties"] == {
        "x": {"type": "number", "description": "Where."},
        "y": {},
        "size": {"type": "integer", "default": 3},
        "label": {},
    }
    assert not function_tool(draw).notes


def test_pydantic_fields_say_description_and_default() -> None:
    def find(
        a: int = pydantic.Field(7, description="A."),
        b: str = pydantic.Field(description="B."),
        c: Annotated[int, pydantic.Field(description="C.")] = 1,
    ) -> None: ...

    found = parameters(find)
    assert found["properties"] == {
        "a": {"type": "integer", "default": 7, "description": "A."},
        "b": {"type": "string", "description": "B."},
        "c": {"type": "integer", "description": "C.", "default": 1},
    }
    assert found["required"] == ["b"]


def test_an_annotation_that_only_a_type_checker_knows_takes_any_value_and_is_told() -> None:
    def sort(rows: "OrderedDict[str, int]", by: "str") -> None: ...

    tool = function_tool(sort)
    assert tool.definition["parameters"]["properties"] == {"rows": {}, "by": {"type": "string"}}
    assert tool.notes == ("rows: JSON has no form for OrderedDict[str, int], any value is taken",)


def test_a_default_that_json_cannot_say_is_left_out() -> None:
    def wait(seconds: float = float("inf"), until: Any = search) -> None: ...

    assert parameters(wait)["properties"] == {"seconds": {"type": "number"}, "until": {}}


class Customer(TypedDict):
    """A customer."""

    id: Annotated[str, "Its id."]


@dataclass
class Page:
    customers: list[Customer]


class Order(pydantic.BaseModel):
    total: float


@pytest.mark.parametrize(
    ("hint", "paths"),
    [
        (Customer, ["id"]),
        ("Page", ["customers", "customers[].id"]),
        (Order | None, ["total"]),
        (list[Order], ["[].total"]),
        (str, []),
        (None, []),
        (dict[str, int], []),
        ("Unknown", []),
    ],
)
def test_a_class_with_fields_that_a_function_returns_is_its_output(hint: Any, paths: list[str]) -> None:
    def find() -> None:
        """Find it."""

    find.__annotations__["return"] = hint
    outputs = record_of(function_tool(find).definition).outputs
    assert [output.path for output in outputs] == paths
    assert hint is not Customer or outputs == (Parameter("id", "string", "Its id.", required=True),)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda city: city, "a lambda has no name: write it as a function, with `def`"),
        (dict.update, "no signature that Python can read"),
    ],
    ids=["lambda", "built-in"],
)
def test_what_has_no_name_or_no_signature_is_refused(function: Any, said: str) -> None:
    with pytest.raises(RecordRejected, match=said):
        function_tool(function)
