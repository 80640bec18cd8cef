"""A dialogue as a request."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from router import RECIPES, Normalization, Reranking, Router, Selection
from router.errors import RequestInvalid
from router.search.conversation import UserMessages, combine_messages, user_messages
from router.search.search import search
from router.snapshot.snapshot import Snapshot

# The scores of two messages are comparable where each list's are counted in spreads.
LEXICAL = replace(RECIPES["lexical"], normalization=Normalization.STANDARD)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("undo a payment", UserMessages("undo a payment")),
        (["undo a payment"], UserMessages("undo a payment")),
        (["a", "b", "c", "d", "e"], UserMessages("e", ("d", "c", "b"))),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "Done."}, "b"], UserMessages("b", ("a",))),
        ([{"role": "system", "content": "Be brief."}, {"content": "a"}], UserMessages("a")),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}], UserMessages("a")),
        ([{"role": "user", "content": ["a", {"type": "text", "text": "b"}]}], UserMessages("a\nb")),
        (["a", "  ", {"role": "user", "content": None}], UserMessages("a")),
    ],
)
def test_the_last_four_messages_of_the_user_are_what_is_asked(request_: Any, expected: UserMessages) -> None:
    assert user_messages(request_) == expected


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ([], "no message of 0"),
        ([{"role": "assistant", "content": "a"}], "no message of 1 holds text of the user"),
        (["a", 3], r"messages\[1\] is 3"),
        ([{"role": "user", "content": 3}], r"messages\[0\]\.content is 3"),
        (b"a", "must be a text or a list of messages"),
        (None, "must be a text or a list of messages"),
    ],
)
def test_what_is_no_dialogue_is_refused_with_its_place(request_: Any, says: str) -> None:
    with pytest.raises(RequestInvalid, match=says):
        user_messages(request_)


@pytest.fixture(scope="module")
def router(snapshot: Path) -> Router:
    return Router.open(snapshot)


def test_a_message_that_says_little_is_answered_by_what_was_said_before(router: Router) -> None:
    alone = router.route("and the same for Bob", recipe=LEXICAL)
    dialogue = router.route(["give the customer their money back", "and the same for Bob"], recipe=LEXICAL, k=1)
    assert "stripe/create_refund" not in alone.ids[:1]
    assert dialogue.ids == ("stripe/create_refund",)


def test_the_latest_message_comes_first_and_the_one_before_it_next(router: Router) -> None:
    routed = router.route(["will it rain tomorrow", "undo a payment"], recipe=LEXICAL, explain=True, k=10)
    ids = list(routed.ids)
    assert ids[0] == "stripe/create_refund"
    assert ids.index("weather/getForecast") < len(ids)
    for tool in routed:
        assert sum(tool.contributions.values()) + tool.gain == pytest.approx(tool.score)
    assert next(tool for tool in routed if tool.tool_id == "weather/getForecast").step == "will it rain tomorrow"
    assert routed.steps == ()


DIALOGUE = ["give the customer their money back", "and the same for Bob"]


def test_a_threshold_counts_what_was_said_before(router: Router) -> None:
    # create_refund, "Refunds a charge in full or in part": refund, a, charge; nothing of the latest message.
    dialogue, selection = ["refund a charge", "and the same for Bob"], Selection(min_lexical_overlap=3)
    assert router.route(dialogue, recipe=LEXICAL, selection=selection).ids == ("stripe/create_refund",)


def test_the_cosine_of_a_dialogue_is_that_of_its_messages_the_latest_counting_most(snapshot: Path) -> None:
    opened = Snapshot.open(snapshot)
    latest, before = (search(opened, text, opened.recipe) for text in ("will it rain tomorrow", "undo a payment"))
    assert latest.query.adapted_vector is not None and before.query.adapted_vector is not None
    expected = latest.query.adapted_vector + 0.6 * before.query.adapted_vector
    moved = combine_messages(latest, [before]).query.adapted_vector
    assert moved == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


def test_a_reranker_hears_the_whole_dialogue_the_latest_message_first(snapshot: Path) -> None:
    heard: list[str] = []

    def scorer(request: str, texts: Sequence[str]) -> list[float]:
        heard.append(request)
        return [0.0] * len(texts)

    Router.open(snapshot, rerank=Reranking(scorer)).route(DIALOGUE, k=2)
    assert heard == ["and the same for Bob\ngive the customer their money back"]


def test_a_dialogue_of_one_message_is_that_message(router: Router) -> None:
    request = "pull failed payments, notify the team"
    assert router.route([request]) == router.route(request)
