"""Many requests at once: `route_many` answers as `route` does, each answer of one snapshot, and says which is wrong."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from router import RequestInvalid, Router
from router.encoding.encoder import Encoder
from router.snapshot.snapshot import Snapshot
from simulations.soak.threads import answers_equal
from tests.support.fake_encoder import FakeEncoder
from tests.support.publishing import Publications, live

REQUESTS = [
    "give the customer their money back",
    "pull failed payments, file a ticket for the team and notify the on-call channel",
    "will it rain",
    "give the customer their money back",
    "顧客",
]


class Noted(FakeEncoder):
    """An encoder that notes what it is asked. Parts of a request it cannot tell, and encodes them as texts."""

    def __init__(self, encoder: Encoder | None) -> None:
        assert encoder is not None
        self._encoder = encoder
        self.batches: list[list[str]] = []

    def encode_requests(self, requests: Sequence[str]) -> NDArray[np.float32]:
        self.batches.append(list(requests))
        return self._encoder.encode_requests(requests)


@pytest.mark.parametrize("recipe", [None, "published", "lexical"])
def test_many_are_answered_as_each_alone_and_in_order(router: Router, recipe: Any) -> None:
    many = router.route_many(REQUESTS, k=3, explain=True, recipe=recipe)
    alone = [router.route(request, k=3, explain=True, recipe=recipe) for request in REQUESTS]
    assert all(answers_equal(one, other) for one, other in zip(many, alone, strict=True))
    assert [[tool.phrase for tool in one] for one in many] == [[tool.phrase for tool in one] for one in alone]


def test_requests_and_their_steps_are_encoded_in_one_batch(snapshot: Path) -> None:
    opened = Snapshot.open(snapshot)
    encoder = Noted(opened.encoder)
    answers = Router(replace(opened, encoder=encoder)).route_many(REQUESTS)
    (batch,) = encoder.batches
    assert sorted(batch) == sorted({*REQUESTS, *(step for answer in answers for step in answer.steps)})
    assert len(batch) > len(set(REQUESTS))


def test_many_requests_are_answered_by_one_snapshot(tmp_path: Path, snapshot: Path) -> None:
    office = Publications(tmp_path, snapshot)
    for name in ("first", "second"):
        office.add(name)
    office.publish("first")
    router = Router.open(office.folder)

    class Publishing(Noted):
        """A publication in the middle of the call."""

        def encode_requests(self, requests: Sequence[str]) -> NDArray[np.float32]:
            office.publish("second")
            assert router.reload()
            return super().encode_requests(requests)

    serving = live(router)
    serving.snapshot = replace(serving.snapshot, encoder=Publishing(serving.snapshot.encoder))
    assert {answer.snapshot for answer in router.route_many(REQUESTS)} == {"first"}
    assert router.manifest.snapshot == "second"


@pytest.mark.parametrize(
    ("requests", "says"),
    [
        (["refund", " ", ""], r"requests\[1\]: the request is empty"),
        ("refund", "`route` takes one"),
        (None, "requests is None, it must be a sequence of texts"),
    ],
)
def test_a_request_that_is_refused_is_named_by_its_place_and_none_has_no_answer(
    router: Router, requests: Any, says: str
) -> None:
    assert router.route_many([]) == []
    with pytest.raises(RequestInvalid, match=says):
        router.route_many(requests)
