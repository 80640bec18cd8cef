"""Two measurements slice by slice, and what they say of requests that no tool answers."""

from dataclasses import replace
from itertools import cycle

import pytest

from router import Router
from router.evaluation import Measurement, ask, compared
from router.evaluation.slice_comparison import compared_abstention, compared_slices
from tests.router.evaluation.judging import of_the_phrases, taking


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
