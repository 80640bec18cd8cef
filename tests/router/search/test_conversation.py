"""A dialogue as a request."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from router import RECIPES, Normalization, Reranking, Router, Selection
from router.errors import RequestInvalid
from router.query.steps import Steps
from router.retrieval.retrievers import EncodedQuery, Ranking
from router.search.conversation import UserMessages, combine_messages, user_messages
from router.search.search import SearchResult

DIALOGUE = ["give the customer their money back", "and the same for Bob"]
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


def ranked(*pairs: tuple[int, float]) -> SearchResult:
    """The result of one message whose tools have these scores."""
    ranking = Ranking.of(np.array([o for o, _ in pairs]), np.array([score for _, score in pairs]))
    query = EncodedQuery("said", (), None, np.array([1, 0], np.float32))
    return SearchResult(query, {}, ranking, (), np.zeros(len(pairs)), Steps(), None, ranking)


def test_an_earlier_message_counts_six_tenths_of_the_one_after_it() -> None:
    combined = combine_messages(ranked((1, 2.0), (2, 1.0)), [ranked((2, 1.0), (3, -1.0)), ranked((4, 1.0), (1, 0.5))])
    # 1: 2 + .36 × .5; 2: 1 + .6; 4: .36; a score below 0 takes nothing away.
    assert combined.ranking.ordinals.tolist() == [1, 2, 4, 3]
    assert combined.ranking.scores.tolist() == pytest.approx([2.18, 1.6, 0.36, 0])
    assert combined.covered is not None
    assert combined.covered.gains.tolist() == pytest.approx([0.18, 0.6, 0.36, 0])
    assert combined.covered.steps.tolist() == [1, 0, 1, -1]


def test_a_message_that_says_little_is_answered_by_what_was_said_before(router: Router) -> None:
    assert "stripe/create_refund" not in router.route(DIALOGUE[1], recipe=LEXICAL).ids[:1]
    assert router.route(DIALOGUE, recipe=LEXICAL, k=1).ids == ("stripe/create_refund",)
    # create_refund, "Refunds a charge in full or in part": refund, a, charge; nothing of the latest message.
    dialogue, selection = ["refund a charge", DIALOGUE[1]], Selection(min_lexical_overlap=3)
    assert router.route(dialogue, recipe=LEXICAL, selection=selection).ids == ("stripe/create_refund",)
    request = "pull failed payments, notify the team"
    assert router.route([request]) == router.route(request)


def test_the_latest_message_comes_first_and_the_one_before_it_is_its_tools_step(router: Router) -> None:
    routed = router.route(["will it rain tomorrow", "undo a payment"], recipe=LEXICAL, explain=True, k=10)
    assert routed.ids[0] == "stripe/create_refund" and routed.steps == ()
    for tool in routed:
        assert sum(tool.contributions.values()) + tool.gain == pytest.approx(tool.score)
    assert next(tool for tool in routed if tool.tool_id == "weather/getForecast").step == "will it rain tomorrow"


def test_a_reranker_hears_the_whole_dialogue_the_latest_message_first(snapshot: Path) -> None:
    heard: list[str] = []

    def scorer(request: str, texts: Sequence[str]) -> list[float]:
        heard.append(request)
        return [0.0] * len(texts)

    Router.open(snapshot, rerank=Reranking(scorer)).route(DIALOGUE, k=2)
    assert heard == ["and the same for Bob\ngive the customer their money back"]
