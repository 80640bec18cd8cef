"""Sorts of requests, and two measurements slice by slice."""

from dataclasses import replace
from itertools import cycle

import pytest

from quartermaster.evaluation import Measurement, ask, compared
from quartermaster.evaluation.comparison import compared_abstention, compared_slices
from quartermaster.evaluation.slices import length, names, slices
from router import Router
from tests.quartermaster.evaluation.judging import judged, of_the_phrases, taking


@pytest.mark.parametrize(
    ("request_", "provider", "named"),
    [
        ("undo it in Stripe", "stripe", True),
        ("list the pull requests on github", "GitHub", True),
        ("move it in my Google calendar", "google-calendar", True),
        ("move it in my calendar", "google-calendar", False),
        ("what can I do", "to-do", False),  # stop-words say nothing
    ],
)
def test_a_provider_is_named_by_all_of_its_words(request_: str, provider: str, named: bool) -> None:
    assert names(request_, provider) is named


def test_requests_are_sorted_by_kind_provider_and_length_in_words_as_the_index_reads_them() -> None:
    assert [length("charge " * words) for words in (4, 5, 16, 41)] == [
        *("1-4 words", "5-15 words", "16-40 words", "over 40 words")
    ]
    assert length("顧客に全額を返金してください") == "5-15 words"
    asked = [
        judged("ab", kind="multi", request="ask pay to give it all back to everybody today"),
        judged("a", request="give it back"),
        judged("", kind="none", request="sing"),
    ]
    assert slices(asked, {"a": "pay", "b": None}.get) == {
        "kind": {"single": [1], "multi": [0], "none": [2]},
        "provider": {"named": [0], "not named": [1]},
        "length": {"1-4 words": [1, 2], "5-15 words": [0]},
    }
    assert "provider" not in slices([judged("a")], lambda tool_id: None)


@pytest.fixture(scope="module")
def measured(router: Router) -> tuple[Measurement, Measurement]:
    """The catalog's phrases as requests, by all lists and by names alone, and two requests that no tool answers."""
    judgements = [*of_the_phrases(), taking("1", "sing a song"), taking("2", "buy bread")]
    names = replace(router.recipe("lexical"), name="names", weights={"name": 1.0})
    return ask(router, judgements, "lexical", whole=False), ask(router, judgements, names, whole=False)


def with_fits(measured: Measurement, answerable: list[float], none: list[float]) -> Measurement:
    """The measurement with these probabilities, in turn."""
    fits = {"single": cycle(answerable), "none": cycle(none)}
    return replace(measured, results=tuple(replace(r, fits=next(fits[r.judgement.kind])) for r in measured.results))


def test_each_slice_has_its_own_requests_and_the_sum_of_them_is_the_whole(
    measured: tuple[Measurement, Measurement],
) -> None:
    found, whole = compared_slices(*measured), compared(*measured)["ndcg@10"]
    assert list(found) == ["slice", "kind", "provider", "length"] and whole is not None
    assert {name: row["queries"] for name, row in found["slice"].items()} == {
        "github": 2, "linear": 4, "slack": 4, "stripe": 4, "weather": 2
    }  # fmt: skip
    summed = sum(row["queries"] * row["difference"]["ndcg@10"]["difference"] for row in found["slice"].values())
    assert summed / 16 == pytest.approx(whole.difference)
    assert list(found["kind"]) == ["single"]  # a slice of requests that no tool answers is left out
    of_kind = found["kind"]["single"]["difference"]["ndcg@10"]
    assert of_kind["difference"] == pytest.approx(whole.difference)
    assert of_kind["p"] > whole.p  # corrected: the same requests, one of several slices


def test_areas_are_compared_over_the_requests_that_both_have_a_probability_for(
    measured: tuple[Measurement, Measurement],
) -> None:
    assert compared_abstention(*measured) is None  # the catalog is too small to calibrate on
    first, second = with_fits(measured[0], [0.9, 0.8], [0.1]), with_fits(measured[1], [0.9, 0.2], [0.5])
    found = compared_abstention(first, second)
    assert found is not None
    assert (found["first"], found["second"], found["difference"]["difference"]) == (1.0, 0.5, 0.5)
    assert found["difference"]["interval"][0] > 0
    answered = replace(first, results=first.results[:-2])
    assert compared_abstention(answered, answered) is None
