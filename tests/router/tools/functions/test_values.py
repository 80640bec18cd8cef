"""Every annotation that a function's tool describes makes of arguments the Python value that it promises."""

import datetime
import decimal
import ipaddress
import pathlib
import subprocess
import sys
import uuid
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Annotated, Any, Literal, Optional, Unpack

import msgspec
import pydantic
import pytest
from annotated_types import Ge, Len
from pydantic import Field

from router.errors import RequestInvalid
from router.tools.functions.signatures import function_tool
from tests.router.tools.functions.kinds import (
    BILL,
    CARD,
    DAY,
    IBAN,
    ID,
    UTC,
    Alias,
    Bill,
    Box,
    Card,
    Cat,
    Checked,
    Color,
    Dog,
    Iban,
    Level,
    Listed,
    Options,
    Page,
    Part,
    Pay,
    Point,
    Point3,
    Positive,
    Query,
    Right,
    Spot,
    Strict,
    Struct,
    Untyped,
    UserId,
    call,
    card,
    check,
    iban,
    typed,
)

ROUND_TRIPS: list[tuple[Any, Any, Any]] = [
    # unions of models, alone and within every container
    (Pay, CARD, card),
    (list[Card | Iban], [IBAN, CARD], [iban, card]),
    (dict[str, Pay], {"a": CARD}, {"a": card}),
    (Card | int, CARD, card),
    (Card | int, 5, 5),
    (Point | Point3, {"x": 1, "z": 2}, Point3(x=1, z=2)),
    (Sequence[Card | Iban] | None, [CARD], [card]),
    (tuple[Card, ...], [CARD], (card,)),
    (tuple[Card, int], [CARD, 5], (card, 5)),
    (Page[Card], {"items": [CARD]}, Page[Card](items=[card])),
    (Strict, {"on": "2026-01-02"}, Strict(on=DAY)),
    (Checked, {"age": 5}, Checked(5)),
    (Card | Bill | Spot, BILL, Bill(card, DAY)),
    # classes with fields
    (Bill, {**BILL, "tags": ["a"], "parent": BILL}, Bill(card, DAY, {"a"}, Bill(card, DAY))),
    (Box[Card], {"value": CARD, "more": {"a": [CARD]}}, Box(card, {"a": [card]})),
    (list[Box[int] | Box[str]], [{"value": "a"}], [Box("a")]),
    (Positive, {"number": 1, "start": 2}, Positive(3)),
    (Untyped, {"a": "x"}, Untyped("x", 1)),
    (Options, {"by": CARD, "until": "2026-01-02"}, {"by": card, "until": DAY}),
    (Query, {"text": "a", "within": {"x": 1}}, {"text": "a", "within": Spot(1)}),
    (Part, {"weight": "1.5", "point": {"x": 1}}, Part(decimal.Decimal("1.5"), 1, Point(x=1))),
    (Struct, {"id": str(ID), "card": CARD}, Struct(ID, card)),
    (Cat | Dog, {"type": "dog", "born": "2026-01-02"}, Dog(DAY)),
    (Cat, {"type": "cat", "legCount": 4}, Cat(4)),
    # choices
    (Color, "red", Color.RED),
    (Color, "('red', 'blue')", Color.MIX),
    (Right, 3, Right.READ | Right.WRITE),
    (Literal["a", 1, True, None, Color.RED], True, True),
    (Literal["a", 1, True, None, Color.RED], 1, 1),
    (Literal["a", 1, True, None, Color.RED], None, None),
    (Literal["a", 1, True, None, Color.RED], "red", Color.RED),
    (list[Color | Level], [1, "red"], [Level.LOW, Color.RED]),
    # text with a format
    (datetime.datetime, "2026-01-02T03:04:05Z", datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    (datetime.date | datetime.datetime, "2026-01-02", DAY),
    (datetime.date | str, "2026-01-02", DAY),
    (datetime.date | str, "tomorrow", "tomorrow"),
    (datetime.time, "03:04:05", datetime.time(3, 4, 5)),
    (pathlib.Path | None, "a/b", pathlib.Path("a/b")),
    (ipaddress.IPv4Address, "10.0.0.1", ipaddress.IPv4Address("10.0.0.1")),
    # containers
    (set[int], [1, 2], {1, 2}),
    (frozenset[datetime.date], ["2026-01-02"], frozenset({DAY})),
    (Set[str], ["a"], {"a"}),
    (Iterable[uuid.UUID], [str(ID)], [ID]),
    (deque[Spot], [{"x": 1}], deque([Spot(1)])),
    (Mapping[str, Spot], {"a": {"x": 1}}, {"a": Spot(1)}),
    (dict[int, Card], {"1": CARD}, {1: card}),
    (dict[Level, int], {"1": 5}, {Level.LOW: 5}),
    (OrderedDict[str, int], {"a": 1}, OrderedDict(a=1)),
    (list[Any], [{"a": 1}], [{"a": 1}]),
    # names for other types, and bounds
    (UserId, 5, 5),
    (Alias, [CARD], [card]),
    (Listed[Spot], [{"x": 1}], [Spot(1)]),
    (Optional["Spot"], {"x": 1}, Spot(1)),
    (Annotated[int, Field(ge=1)] | None, None, None),
    (Annotated[list[Spot], Field(min_length=1)], [{"x": 1}], [Spot(1)]),
    (Annotated[str, pydantic.BeforeValidator(str.strip)], " a ", "a"),
    (int | str, "5", "5"),
    (float | int, 5, 5),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "written", "promised"), ROUND_TRIPS, ids=str)
def test_arguments_that_the_schema_takes_become_what_the_annotation_promises(
    hint: Any, written: Any, promised: Any
) -> None:
    check(hint, written, promised)
    assert call(typed(hint), value=promised) == promised  # a program's own value is taken as it is


@pytest.mark.parametrize(
    ("hint", "written", "said"),
    [
        (Pay, {"kind": "cheque"}, "value is {'kind': 'cheque'}: Input tag 'cheque' found using 'kind' does not match"),
        (list[Card | Iban], [CARD, {}], r"value\[1\] is {}: Card.kind: Field required; .*; Iban.iban: Field required"),
        (Card | int, "x", "value is 'x': .*; or Expected `int`, got `str`"),
        (dict[str, list[Spot]], {"a": [{"x": "b"}]}, r"value.a\[0\].x is 'b': Expected `int`, got `str`"),
        (Bill, {"by": CARD}, "value is .*: its field 'on' is missing"),
        (Spot, {"x": 1, "z": 2}, "value is .*: there is no field 'z': there are x, y"),
        (Spot, [], r"value is \[\]: its field 'x' is missing"),
        (Positive, {"number": -1}, "value is .*: a number below 0"),
        (Part, {"weight": 1, "size": -1}, "value is .*: 'size' must be >= 0: -1"),
        (Checked, {"age": -1}, "value is .*: age: Input should be greater than or equal to 0"),
        (set[Box[int]], [{"value": 1, "more": {"a": [1]}}], "value is .*: unhashable type: 'dict'"),
        (tuple[int, str], [1], r"value is \[1\]: Expected `array` of length 2, got 1"),
        (Sequence[str], "abc", "value is 'abc': Expected `array`, got `str`"),
        (dict[int, str], {"a": "b"}, "a key of tool: value is 'a': Expected `int`, got `str`"),
        (int, "five", "value is 'five': Expected `int`, got `str`"),
        (Color, "blue", r"value is 'blue': it must be 'red', \"\('red', 'blue'\)\"$"),
        (Right, 8, "value is 8: .*invalid value"),
        (Literal[1, "a"], 2, "value is 2: it must be 1, 'a'$"),
        (Annotated[int, Field(ge=1)], 0, "value is 0: Input should be greater than or equal to 1"),
        (Annotated[list[Spot], Len(2)], [{"x": 1}], "value is .*: List should have at least 2 items"),
        (Annotated[int, Ge(1)], 0, "value is 0: Input should be greater than"),
        (Annotated[int, msgspec.Meta(le=9)], 10, "value is 10: Expected `int` <= 9"),
        (None, 5, "value is 5: Expected `null`, got `int`"),
        (ipaddress.IPv4Address, "x", "value is 'x': .*IPv4"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_with_its_place_value_and_reason(hint: Any, written: Any, said: str) -> None:
    with pytest.raises(RequestInvalid, match=said):
        call(typed(hint), value=written)


def test_a_value_nested_too_deeply_is_refused() -> None:
    bill = BILL
    for _ in range(500):
        bill = {**BILL, "parent": bill}
    with pytest.raises(RequestInvalid, match="tool: its arguments are nested too deeply"):
        call(typed(Bill), value=bill)


def test_bounds_and_formats_stand_in_the_schema() -> None:
    def pay(
        amount: Annotated[int, Field(ge=1, lt=9)],
        names: Annotated[list[str], Len(1, 3)],
        code: Annotated[str, msgspec.Meta(pattern="^a", max_length=5)],
        at: datetime.datetime,
        time: datetime.time,
        rights: Right,
        left: int = Field(3, gt=0),
    ) -> None: ...

    assert function_tool(pay).input_schema["properties"] == {
        "amount": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
        "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        "code": {"type": "string", "pattern": "^a", "maxLength": 5},
        "at": {"type": "string", "format": "date-time"},
        "time": {"type": "string", "format": "time"},
        "rights": {"type": "integer", "description": "A sum of 1 (READ), 2 (WRITE)"},
        "left": {"type": "integer", "exclusiveMinimum": 0, "default": 3},
    }
    with pytest.raises(RequestInvalid, match="left is 0: Input should be greater than 0"):
        call(typed_default, left=0)


def typed_default(left: int = Field(3, gt=0)) -> int:
    return left


def test_keywords_are_converted_too_and_those_of_a_typed_dict_are_described() -> None:
    def find(*words: int, by: str, **more: Unpack[Query]) -> Any:
        return more

    def tag(**days: datetime.date) -> Any:
        return days

    schema = function_tool(find).input_schema
    assert (list(schema["properties"]), schema["required"]) == (["by", "text", "within"], ["by", "text"])
    assert call(find, by="a", text="b", within={"x": 1}) == {"text": "b", "within": Spot(1)}
    with pytest.raises(RequestInvalid, match="there is no parameter 'other': there are by, text, within"):
        call(find, by="a", text="b", other=1)
    assert call(tag, a="2026-01-02") == {"a": DAY}


def test_without_pydantic_everything_else_is_converted_and_pydantic_is_not_imported() -> None:
    program = """
import dataclasses, ipaddress, sys, uuid
from typing import NamedTuple
from router import Router
class Spot(NamedTuple):
    x: int
@dataclasses.dataclass
class Both:
    spot: Spot | uuid.UUID
def take(both: list[Both], address: ipaddress.IPv4Address) -> object:
    return both, address
router = Router.from_tools([take], encoder=None)
print(router.call("take", {"both": [{"spot": {"x": 1}}], "address": "10.0.0.1"}), "pydantic" in sys.modules)
"""
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "([Both(spot=Spot(x=1))], '10.0.0.1') False\n"
