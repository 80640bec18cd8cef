"""Errors cross process boundaries: a worker's error reaches the build as it was raised."""

import pickle
from collections.abc import Iterator

import pytest

from pipeline.errors import QuartermasterError, RecordRejected
from router.record import Origin


def kinds(kind: type[QuartermasterError]) -> Iterator[type[QuartermasterError]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from kinds(narrower)


OURS = sorted(
    (kind for kind in {*kinds(QuartermasterError)} if kind.__module__ in ("pipeline.errors", "router.errors")), key=str
)


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_an_error_is_the_same_after_pickling(kind: type[QuartermasterError]) -> None:
    origin = Origin("tools.json", "/0")
    error = RecordRejected(origin, "why", keys=("name",)) if kind is RecordRejected else kind("what failed")
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is kind and str(copied) == str(error) and copied.exit_code == error.exit_code
    assert vars(copied) == vars(error)
