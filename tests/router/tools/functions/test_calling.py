"""Calling the function behind a tool with what a model gave."""

import asyncio
import datetime
import enum
import functools
import pathlib
from dataclasses import dataclass
from typing import Annotated, Any

import pydantic
import pytest

from router.errors import RequestInvalid
from router.tools.functions import Functions
from router.tools.functions.signatures import Function


class Color(enum.Enum):
    RED = "red"


@dataclass
class Address:
    street: str
    code: int = 0


class Item(pydantic.BaseModel):
    name: str


def call(function: Function, **arguments: Any) -> Any:
    functions = Functions(lambda tool_id: True)
    functions.put(["tool"], {"tool": function})
    return functions.call("tool", arguments)


def echo(value: Any) -> Any:
    return value


def typed(hint: Any) -> Function:
    def take(value: Any) -> Any:
        return value

    take.__annotations__["value"] = hint
    return take


@pytest.mark.parametrize(
    ("hint", "given", "taken"),
    [
        (int, "5", 5),
        (bool, "false", False),
        (float, 3, 3.0),
        (Color, "red", Color.RED),
        (list[Color], ["red"], [Color.RED]),
        (Address, {"street": "Main", "code": "7"}, Address("Main", 7)),
        (Address | None, None, None),
        (datetime.date, "2024-05-01", datetime.date(2024, 5, 1)),
        (Annotated[int, "Cents."], 3, 3),
        (Item, {"name": "a"}, Item(name="a")),
        (list[Item], [{"name": "a"}], [Item(name="a")]),
        (pathlib.Path, "/tmp", pathlib.Path("/tmp")),
        (tuple[int, int], [1, 2], (1, 2)),
        (list[int] | list[str], ["a"], ["a"]),
        (Any, {"a": 1}, {"a": 1}),
        (RequestInvalid, "anything", "anything"),
        ("NoSuch", "anything", "anything"),
    ],
    ids=str,
)
def test_an_argument_becomes_what_its_annotation_says(hint: Any, given: Any, taken: Any) -> None:
    assert call(typed(hint), value=given) == taken


@pytest.mark.parametrize(
    ("hint", "given"), [(int, "five"), (Color, "blue"), (Address, {}), (Item, {"nam": 1}), (str, 5)]
)
def test_an_argument_that_does_not_fit_is_refused_with_its_name_and_value(hint: Any, given: Any) -> None:
    with pytest.raises(RequestInvalid, match="tool: value is "):
        call(typed(hint), value=given)


def test_what_is_missing_or_unknown_is_refused_by_name() -> None:
    def pay(charge: str, amount: int = 1) -> None: ...

    with pytest.raises(RequestInvalid, match="tool: the argument 'charge' is missing"):
        call(pay, amount=2)
    with pytest.raises(RequestInvalid, match="tool: there is no parameter 'sum': there are charge, amount"):
        call(pay, charge="c", sum=2)


def test_any_argument_reaches_a_function_that_takes_any() -> None:
    def keep(a: int, **rest: str) -> dict[str, Any]:
        return {"a": a, **rest}

    assert call(keep, a=1, b="x") == {"a": 1, "b": "x"}


def test_positional_parameters_are_given_by_place() -> None:
    def subtract(a: int, b: int, /, c: int = 0) -> int:
        return a - b - c

    assert call(subtract, c=1, b=2, a=10) == 7


def test_what_a_partial_has_bound_stays() -> None:
    def pay(key: str, amount: int, currency: str) -> str:
        return f"{key} {amount} {currency}"

    assert call(functools.partial(pay, "k", currency="EUR"), amount=5) == "k 5 EUR"
    with pytest.raises(RequestInvalid, match="there is no parameter 'currency'"):
        call(functools.partial(pay, "k", currency="EUR"), amount=5, currency="USD")


def test_methods_are_called_on_their_object() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def add(self, number: int) -> int:
            self.count += number
            return self.count

    counter = Counter()
    call(counter.add, number=2)
    assert call(counter.add, number=3) == 5


def test_an_async_function_gives_its_coroutine() -> None:
    async def double(number: int) -> int:
        return 2 * number

    assert asyncio.run(call(double, number=4)) == 8


def test_a_default_that_pydantic_names_is_what_the_function_gets() -> None:
    def find(limit: int = pydantic.Field(7, description="How many.")) -> int:
        return limit

    assert call(find) == 7


def test_what_the_function_raises_is_its_own() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call(fail)


def test_functions_are_those_of_the_tools_that_serve() -> None:
    serving = {"a", "b"}
    functions = Functions(serving.__contains__)
    functions.put(["a", "b", "c"], {"a": echo, "c": echo})
    assert dict(functions) == {"a": echo}
    assert (len(functions), "c" in functions, repr(functions)) == (1, False, "Functions(a)")
    serving.add("c")
    assert list(functions) == ["a", "c"]
    functions.put(["a"], {})
    assert list(functions) == ["c"]


def test_a_tool_without_a_function_cannot_be_called() -> None:
    functions = Functions(lambda tool_id: True)
    with pytest.raises(RequestInvalid, match="no function is behind 'a': there are none"):
        functions.call("a", {})
    functions.put(["b"], {"b": echo})
    with pytest.raises(RequestInvalid, match="there are b"):
        functions.call("a", {})


def test_a_default_of_a_pydantic_factory_is_made_anew_for_each_call() -> None:
    def tag(tags: list[str] = pydantic.Field(default_factory=list)) -> list[str]:  # noqa: B008 - as people write it
        return tags

    first, second = call(tag), call(tag)
    assert (first, second) == ([], [])
    assert first is not second


def test_a_positional_argument_after_one_that_is_left_out_stays_in_its_place() -> None:
    def divide(by: int = 1, value: int = 2, /, *, rest: int = 0) -> tuple[int, int, int]:
        return by, value, rest

    assert call(divide, value=5) == (1, 5, 0)
    assert call(divide, by=5, rest=1) == (5, 2, 1)


def test_what_a_framework_fills_in_is_named_where_a_call_lacks_it() -> None:
    def search(ctx: object, query: str) -> None: ...

    with pytest.raises(RequestInvalid, match=r"tool: its parameter 'ctx' is not an argument of .*functions\['tool'\]"):
        call(search, query="x")


def test_a_model_cannot_override_what_a_partial_or_a_framework_fills_in() -> None:
    def fetch(ctx: object = None, **options: str) -> dict[str, str]:
        return options

    with pytest.raises(RequestInvalid, match="there is no parameter 'key'"):
        call(functools.partial(fetch, key="secret"), key="stolen")
    with pytest.raises(RequestInvalid, match="there is no parameter 'ctx'"):
        call(fetch, ctx="forged")
    assert call(functools.partial(fetch, key="secret"), other="x") == {"key": "secret", "other": "x"}


@pytest.mark.parametrize("arguments", ['{"value": 1}', None, [1]])
def test_arguments_that_are_no_dict_are_refused_with_the_way_out(arguments: Any) -> None:
    functions = Functions(lambda tool_id: True)
    functions.put(["tool"], {"tool": echo})
    with pytest.raises(RequestInvalid, match=r"tool: the arguments are \w+, not a dict: `json.loads`"):
        functions.call("tool", arguments)


def test_what_pydantic_refuses_is_told_in_one_line() -> None:
    def buy(item: Item) -> None: ...

    with pytest.raises(RequestInvalid, match=r"^tool: item is \{'name': 5\}: name: Input should be a valid string$"):
        call(buy, item={"name": 5})
