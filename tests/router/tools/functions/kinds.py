"""Classes of every kind that stand in annotations, and calls of functions that take them."""

import dataclasses
import datetime
import decimal
import enum
import uuid
from collections import namedtuple
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, Optional, TypedDict, TypeVar

import attrs
import jsonschema
import msgspec
import pydantic
import typing_extensions
from pydantic import Field

from router.tools.functions.calling import Functions
from router.tools.functions.signatures import Function, function_tool

T = TypeVar("T")


class Card(pydantic.BaseModel):
    kind: Literal["card"]
    number: str


class Iban(pydantic.BaseModel):
    kind: Literal["iban"]
    iban: str


class Point(pydantic.BaseModel):
    x: int


class Point3(pydantic.BaseModel):
    x: int
    z: int = 0


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    on: datetime.date


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]


@pydantic.dataclasses.dataclass
class Checked:
    age: Annotated[int, Field(ge=0)]


@dataclasses.dataclass
class Bill:
    by: Card | Iban
    on: datetime.date
    tags: set[str] = dataclasses.field(default_factory=set)
    parent: Optional["Bill"] = None


@dataclasses.dataclass(frozen=True)
class Box(Generic[T]):
    value: T
    more: dict[str, list[T]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Positive:
    number: int
    start: dataclasses.InitVar[int] = 0

    def __post_init__(self, start: int) -> None:
        self.number += start
        if self.number < 0:
            raise ValueError("a number below 0")


class Spot(NamedTuple):
    x: int
    y: int = 3


Untyped = namedtuple("Untyped", "a b", defaults=(1,))


class Options(TypedDict, total=False):
    until: datetime.date
    by: Card


class Query(TypedDict):
    text: str
    within: NotRequired[Spot]


@attrs.define
class Part:
    _weight: decimal.Decimal
    size: int = attrs.field(default=1, validator=attrs.validators.ge(0))
    point: Point | None = None


class Struct(msgspec.Struct):
    id: uuid.UUID
    card: Card | None = None


class Cat(msgspec.Struct, tag="cat", rename="camel"):
    leg_count: int


class Dog(msgspec.Struct, tag="dog"):
    born: datetime.date


class Color(enum.Enum):
    RED = "red"
    MIX = ("red", "blue")


class Level(enum.IntEnum):
    LOW = 1


class Right(enum.Flag):
    READ = 1
    WRITE = 2


UserId = NewType("UserId", int)
Alias = typing_extensions.TypeAliasType("Alias", list[Card | Iban])
Listed = typing_extensions.TypeAliasType("Listed", list[T], type_params=(T,))
Pay = Annotated[Card | Iban, Field(discriminator="kind")]

CARD, IBAN = {"kind": "card", "number": "4"}, {"kind": "iban", "iban": "X"}
BILL = {"by": CARD, "on": "2026-01-02"}
card, iban = Card(kind="card", number="4"), Iban(kind="iban", iban="X")
DAY, ID = datetime.date(2026, 1, 2), uuid.UUID(int=7)
UTC = datetime.UTC


def typed(hint: Any) -> Function:
    def take(value: Any) -> Any:
        return value

    take.__annotations__["value"] = hint
    return take


def call(function: Function, **arguments: Any) -> Any:
    functions = Functions(lambda tool_id: True)
    functions.put(["tool"], {"tool": function})
    return functions.call("tool", arguments)


def check(hint: Any, written: Any, promised: Any) -> None:
    tool = function_tool(typed(hint))
    assert not tool.notices
    jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    jsonschema.Draft202012Validator(tool.input_schema).validate({"value": written})
    taken = call(typed(hint), value=written)
    assert taken == promised and type(taken) is type(promised)
