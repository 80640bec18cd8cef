"""Calling the function behind a tool with what a model gave."""

import asyncio
import functools
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any

import pydantic
import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, tool

from router import Router
from router.errors import RequestInvalid
from router.tools.functions.calling import Functions
from tests.router.tools.functions.kinds import call, typed


@dataclass
class Address:
    street: str
    code: int = 0


def echo(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("hint", "given", "taken"),
    [
        (int, "5", 5),
        (bool, "false", False),
        (Address, {"street": "Main", "code": "7"}, Address("Main", 7)),
        (RequestInvalid, "anything", "anything"),
        ("NoSuch", "anything", "anything"),
    ],
    ids=str,
)
def test_an_argument_becomes_what_its_annotation_says(hint: Any, given: Any, taken: Any) -> None:
    assert call(typed(hint), value=given) == taken


def test_what_is_missing_or_unknown_is_refused_by_name_and_what_is_no_dict_with_the_way_out() -> None:
    def pay(charge: str, amount: int = 1) -> None: ...

    with pytest.raises(RequestInvalid, match="tool: the argument 'charge' is missing"):
        call(pay, amount=2)
    with pytest.raises(RequestInvalid, match="tool: there is no parameter 'sum': there are charge, amount"):
        call(pay, charge="c", sum=2)
    functions = Functions(lambda tool_id: True)
    functions.put(["tool"], {"tool": echo})
    assert functions.call("tool", '{"value": 1}') == 1
    with pytest.raises(RequestInvalid, match="tool: the arguments are not JSON"):
        functions.call("tool", "value = 1")


def test_a_model_cannot_override_what_a_partial_or_a_framework_fills_in() -> None:
    def fetch(ctx: object = None, **options: str) -> dict[str, str]:
        return options

    assert call(functools.partial(fetch, key="secret"), other="x") == {"key": "secret", "other": "x"}
    with pytest.raises(RequestInvalid, match="there is no parameter 'key'"):
        call(functools.partial(fetch, key="secret"), key="stolen")
    with pytest.raises(RequestInvalid, match="there is no parameter 'ctx'"):
        call(fetch, ctx="forged")

    def search(ctx: object, query: str) -> None: ...

    with pytest.raises(RequestInvalid, match=r"tool: its parameter 'ctx' is not an argument .* give it as `context`"):
        call(search, query="x")


class RunContext:
    user = "ann"


def test_the_context_of_a_run_reaches_the_parameters_that_no_model_sees() -> None:
    def by_name(charge: str, ctx: Any) -> str:
        return f"{ctx.user} refunds {charge}"

    def by_type(run: RunContext, /, charge: str) -> str:
        return f"{run.user} refunds {charge}"

    def plain(charge: str) -> str:
        return f"refund {charge}"

    router = Router.from_tools([by_name, by_type, plain], encoder=None)
    for tool_id in ("by_name", "by_type", "plain"):
        record = router.record(tool_id)
        assert record is not None and [*record.input_schema["properties"]] == ["charge"]
    given = {"charge": "ch_1"}
    assert router.call("by_name", given, context=RunContext) == "ann refunds ch_1"
    assert router.call("by_type", given, context=RunContext) == "ann refunds ch_1"
    assert router.call("plain", given, context=RunContext) == "refund ch_1"
    assert call(functools.partial(by_name, ctx=RunContext), **given) == "ann refunds ch_1"
    with pytest.raises(RequestInvalid, match="no parameter 'ctx'"):
        router.call("by_name", {**given, "ctx": "forged"}, context=RunContext)


@pytest.mark.parametrize("kind", ["a function", "a tool"])
def test_what_langchain_fills_in_is_the_context_of_a_run_and_never_a_models(kind: str) -> None:
    def refund(charge: str, user: Annotated[Any, InjectedToolArg], config: RunnableConfig) -> str:
        """Give a customer the money of a charge back."""
        return f"{user.name} refunds {charge} of {config['configurable']['tenant']}"

    run = SimpleNamespace(name="ann", config={"configurable": {"tenant": "shop"}})
    router = Router.from_tools([tool(refund) if kind == "a tool" else refund], encoder=None)
    assert [*next(iter(router.tools)).input_schema["properties"]] == ["charge"]
    assert router.call("refund", {"charge": "ch_1"}, context=run) == "ann refunds ch_1 of shop"
    with pytest.raises(RequestInvalid, match="there is no parameter 'user'"):
        router.call("refund", {"charge": "ch_1", "user": "forged"}, context=run)


def test_a_langchain_tool_may_have_an_argument_with_the_name_of_a_context() -> None:
    router = Router.from_tools([tool("move", description="Move it.")(lambda ctx: ctx)], encoder=None)
    assert router.call("move", {"ctx": "a"}, context="ann") == "a"


def test_positional_parameters_are_given_by_place_also_behind_one_that_is_left_out() -> None:
    def divide(by: int = 1, value: int = 2, /, *, rest: int = 0) -> tuple[int, int, int]:
        return by, value, rest

    assert call(divide, rest=1, value=2, by=10) == (10, 2, 1)
    assert call(divide, value=5) == (1, 5, 0)
    assert call(divide, by=5, rest=1) == (5, 2, 1)


def test_an_async_function_gives_its_coroutine_and_a_method_is_called_on_its_object() -> None:
    class Counter:
        count = 0

        async def add(self, number: int) -> int:
            self.count += number
            return self.count

    counter = Counter()
    assert [asyncio.run(call(counter.add, number=number)) for number in (2, 3)] == [2, 5]


def test_a_default_that_pydantic_names_is_what_the_function_gets_made_anew_for_each_call() -> None:
    def find(
        limit: int = pydantic.Field(7, description="How many."),
        tags: list[str] = pydantic.Field(default_factory=list),  # noqa: B008 - as people write it
    ) -> tuple[int, list[str]]:
        return limit, tags

    (limit, first), (_, second) = call(find), call(find)
    assert (limit, first, second) == (7, [], [])
    assert first is not second


def test_functions_are_those_of_the_tools_that_serve() -> None:
    serving = {"a", "b"}
    functions = Functions(serving.__contains__)
    with pytest.raises(RequestInvalid, match="no function is behind 'a': there are none"):
        functions.call("a", {})
    functions.put(["a", "b", "c"], {"a": echo, "c": echo})
    assert dict(functions) == {"a": echo} and "c" not in functions
    serving.add("c")
    assert list(functions) == ["a", "c"]
    functions.put(["a"], {})
    with pytest.raises(RequestInvalid, match="no function is behind 'a': there are c"):
        functions.call("a", {})


@pytest.mark.parametrize(
    ("given", "taken", "told"),
    [
        ({"to": '{"street": "Main"}', "cc": ["a"]}, (Address("Main"), ["a"], ""), "to: its text was read as JSON"),
        (
            {"to": {"street": "Main", "code": None}, "cc": "a"},
            (Address("Main"), ["a"], ""),
            "cc: its value was put into",
        ),
        ('{"to": {"street": "Main"}, "cc": [], "note": null}', (Address("Main"), [], ""), "note: it is optional"),
        ({"to": {"street": "Main"}, "cc": ["a"], "note": "5"}, (Address("Main"), ["a"], "5"), ""),
    ],
)
def test_arguments_that_a_function_refuses_are_mended_by_the_tools_schema_and_the_log_says_so(
    given: Any, taken: Any, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    def post(to: Address, cc: list[str], note: str = "") -> tuple[Address, list[str], str]:
        return to, cc, note

    router = Router.from_tools([post], encoder=None)
    caplog.set_level("INFO", "router")
    assert router.call("post", given) == taken
    logged = [record.getMessage() for record in caplog.records if "mended" in record.getMessage()]
    assert len(logged) == bool(told) and told in "".join(logged)
    with pytest.raises(RequestInvalid, match="post: to is 'Main street'"):
        router.call("post", {"to": "Main street", "cc": "a"})


def test_an_error_of_the_function_itself_calls_it_once() -> None:
    calls = []

    def post(tags: list[str]) -> None:
        calls.append(tags)
        raise RequestInvalid("the desk is closed")

    with pytest.raises(RequestInvalid, match="the desk is closed"):
        Router.from_tools([post], encoder=None).call("post", {"tags": "a"})
    assert calls == [["a"]]
