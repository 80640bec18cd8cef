"""The second pass: settings, order, what the scorer reads, and what is refused of it."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from router import Router
from router.answer.reranking import Reranking, RerankingFailed, rerank, text_of
from router.errors import SettingsInvalid
from router.record import Parameter
from tests.support.factories import make_record

REQUEST = "give the customer their money back"


def by_length(request: str, texts: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def test_candidates_are_ordered_by_score_and_equal_ones_stay_as_they_were() -> None:
    found = rerank(by_length, "refund", ["aa", "bbb", "cc", "dddd"])
    assert found.order == (3, 1, 0, 2) and found.scores == (4.0, 3.0, 2.0, 2.0)
    assert rerank(lambda request, texts: np.arange(3.0), "refund", "abc").order == (2, 1, 0)  # type: ignore[arg-type, return-value]
    assert rerank(lambda request, texts: pytest.fail("asked"), "refund", []).order == ()


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([1.0], "gave 1 scores for 2 tools"),
        ([1.0, math.nan], "gave nan for candidate 1"),
        ([math.inf, 1.0], "gave inf for candidate 0"),
        (["0.5", 1.0], "gave '0.5' for candidate 0"),
        (np.ones((2, 1)), "for candidate 0, it must be a finite number"),
        (None, "raised TypeError"),
    ],
)
def test_what_orders_nothing_is_refused(scores: object, said: str) -> None:
    with pytest.raises(RerankingFailed, match=said):
        rerank(lambda request, texts: scores, "refund", ["a", "b"])  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("multiplier", [0, 51, 2.5])
def test_settings_out_of_their_range_are_refused(multiplier: object) -> None:
    with pytest.raises(SettingsInvalid, match=r"multiplier is .*, it must be a whole number from 1 to 50"):
        Reranking(by_length, multiplier)  # type: ignore[arg-type]
    with pytest.raises(SettingsInvalid, match="scorer is 'bge-reranker', it must be a function"):
        Reranking("bge-reranker")  # type: ignore[arg-type]


def test_a_reranker_reads_provider_name_description_parameters_and_phrases() -> None:
    paths = ("charge", "amount", "metadata.key")  # a branch of an object says little
    parameters = tuple(Parameter(path, "string") for path in paths)
    record = make_record("createRefund", description="Refund a charge.", parameters=parameters)
    assert text_of(record, ["give the money back"]) == (
        "stripe create refund. Refund a charge. Parameters: charge, amount. Asked for as: give the money back."
    )
    assert text_of(make_record("发送邮件", provider=None, description="")) == "发送邮件."


def test_what_is_read_is_bounded_and_one_line() -> None:
    parameters = tuple(Parameter(f"line\n{number}" * 9, "string") for number in range(100))
    record = make_record("name" * 50, description="a\nb" * 300, parameters=parameters)
    read = text_of(record, ["a phrase\n" * 100] * 5)
    assert len(read) <= 1_000 and "\n" not in read


def test_a_routers_answer_is_the_best_of_k_times_the_multiplier_by_the_reranker() -> None:
    tools = [make_record(f"pay{number}", description="Pay. " * (number % 7 + 1)) for number in range(40)]
    asked: list[str] = []

    def longest_first(request: str, texts: Sequence[str]) -> list[float]:
        asked.extend(texts)
        return by_length(request, texts)

    routed = Router.from_tools(tools, encoder=None, rerank=Reranking(longest_first, 15)).route("pay", k=2)
    before = Router.from_tools(tools, encoder=None).route("pay", k=30)
    assert len(asked) == 30
    best = sorted(range(30), key=lambda place: (-len(asked[place]), place))[:2]
    assert routed.ids == tuple(before.ids[place] for place in best) and not routed.failed
    assert routed.ms["rerank"] > 0


def test_where_a_reranker_fails_the_answer_is_the_one_before_it_and_says_so(snapshot: Path, router: Router) -> None:
    def broken(request: str, texts: Sequence[str]) -> list[float]:
        raise ConnectionError("the reranking service is away")

    routed = Router.open(snapshot, rerank=Reranking(broken)).route(REQUEST, k=3)
    assert routed.ids == router.route(REQUEST, k=3).ids
    assert routed.failed == "the reranker raised ConnectionError: the reranking service is away"
