"""Values of random annotations, written as JSON as their schema says, come back as they were."""

import dataclasses
import datetime
import decimal
import uuid
from typing import Annotated, Any, Literal, Optional

import msgspec
import pydantic
from hypothesis import given
from hypothesis import strategies as st

from tests.router.tools.functions.kinds import UTC, Box, Card, Iban, Level, Options, Spot, card, check, iban

LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, st.integers(-(2**53), 2**53)),
    (str, st.text(max_size=5)),
    (bool, st.booleans()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (bytes, st.binary(max_size=5)),
    (uuid.UUID, st.uuids()),
    (datetime.date, st.dates()),
    (datetime.datetime, st.datetimes(timezones=st.just(UTC))),
    (datetime.timedelta, st.timedeltas(datetime.timedelta(-9999), datetime.timedelta(9999))),
    (decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    (Level, st.sampled_from(Level)),
    (Literal["a", 1, None], st.sampled_from(["a", 1, None])),
    (Spot, st.builds(Spot, st.integers(-9, 9), st.integers(-9, 9))),
    (Card | Iban, st.builds(Card, kind=st.just("card"), number=st.text(max_size=3)) | st.just(iban)),
    (Options, st.fixed_dictionaries({}, optional={"until": st.dates(), "by": st.just(card)})),
]
Values = tuple[Any, st.SearchStrategy[Any]]


def of(kind: Any, *inside: Any) -> Any:
    """Return a generic annotation of kinds that are drawn."""
    return kind[inside if len(inside) > 1 else inside[0]]


def containers(inner: st.SearchStrategy[Values]) -> st.SearchStrategy[Values]:
    """Annotations made of others, each with the strategy of its values."""

    def record(kinds: list[Values]) -> Values:
        made = dataclasses.make_dataclass("Made", [(f"f{n}", hint) for n, (hint, _) in enumerate(kinds)])
        return made, st.builds(made, *(values for _, values in kinds))

    return st.one_of(
        inner.map(lambda one: (of(list, one[0]), st.lists(one[1], max_size=2))),
        inner.map(lambda one: (of(tuple, one[0], ...), st.lists(one[1], max_size=2).map(tuple))),
        inner.map(lambda one: (of(dict, str, one[0]), st.dictionaries(st.text(max_size=2), one[1], max_size=2))),
        inner.map(lambda one: (of(Optional, one[0]), one[1] | st.none())),
        inner.map(lambda one: (of(Annotated, one[0], "Said."), one[1])),
        inner.map(lambda one: (of(Box, one[0]), st.builds(Box, one[1]))),
        st.lists(inner, min_size=1, max_size=3).map(record),
    )


def written(value: Any) -> Any:
    """Return a value as JSON, as its schema says."""
    if isinstance(value, pydantic.BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Spot):
        return value._asdict()
    if dataclasses.is_dataclass(value):
        return {field.name: written(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [written(item) for item in value]
    if isinstance(value, dict):
        return {key: written(item) for key, item in value.items()}
    return msgspec.to_builtins(value)


@given(st.recursive(st.sampled_from(LEAVES), containers, max_leaves=5), st.data())
def test_every_value_of_an_annotation_comes_back_from_its_json(kind: Values, data: st.DataObject) -> None:
    hint, values = kind
    value = data.draw(values)
    check(hint, written(value), value)
