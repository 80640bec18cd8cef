"""Two measurements slice by slice, and what they say of requests that no tool answers."""

from dataclasses import replace

import pytest

from router import Router
from router.evaluation import Judgement, Measurement, ask, compared
from router.evaluation.slice_comparison import compared_abstention, compared_slices
from tests.support.factories import TOOLS, expansion_row


@pytest.fixture(scope="module")
def measured(router: Router) -> tuple[Measurement, Measurement]:
    """The catalog's phrases as requests, by all lists and by names alone, and two requests that no tool answers."""
    judgements = [
        Judgement(f"{tool['id']} {i}", phrase, tools, tools, "single", slice=tool["provider"])
        for tool in TOOLS
        for i, phrase in enumerate(expansion_row(tool)["user_phrases"])
        for tools in [frozenset({tool["id"]})]
    ]
    judgements += [Judgement(text, text, frozenset(), frozenset(), "none") for text in ("sing a song", "buy bread")]
    names = replace(router.recipe("lexical"), name="names", weights={"name": 1.0})
    return ask(router, judgements, "lexical", whole=False), ask(router, judgements, names, whole=False)


def with_fits(measured: Measurement, answerable: list[float], none: list[float]) -> Measurement:
    """The measurement with these probabilities, in turn."""
    by_kind = {"single": answerable, "none": none}
    counts = {"single": 0, "none": 0}
    results = []
    for result in measured.results:
        kind = result.judgement.kind
        results.append(replace(result, fits=by_kind[kind][counts[kind] % len(by_kind[kind])]))
        counts[kind] += 1
    return replace(measured, results=tuple(results))


def test_each_slice_has_its_own_requests_and_the_sum_of_them_is_the_whole(
    measured: tuple[Measurement, Measurement],
) -> None:
    found = compared_slices(*measured)
    assert list(found) == ["slice", "kind", "provider", "length"]
    of_providers = found["slice"]
    assert {name: row["queries"] for name, row in of_providers.items()} == {
        "github": 2, "linear": 4, "slack": 4, "stripe": 4, "weather": 2
    }  # fmt: skip
    whole = compared(*measured)["ndcg@10"]
    assert whole is not None
    summed = sum(row["queries"] * row["difference"]["ndcg@10"]["difference"] for row in of_providers.values())
    assert summed / 16 == pytest.approx(whole.difference)
    assert found["kind"]["single"]["difference"]["ndcg@10"]["difference"] == pytest.approx(whole.difference)


def test_a_slice_of_requests_that_no_tool_answers_is_left_out(measured: tuple[Measurement, Measurement]) -> None:
    assert list(compared_slices(*measured)["kind"]) == ["single"]


def test_the_p_of_slices_is_corrected_for_their_number(measured: tuple[Measurement, Measurement]) -> None:
    whole = compared(*measured)["ndcg@10"]
    assert whole is not None
    of_kind = compared_slices(*measured)["kind"]["single"]["difference"]["ndcg@10"]
    assert of_kind["p"] > whole.p  # the same requests, one of several slices


def test_areas_are_compared_over_the_requests_that_both_have_a_probability_for(
    measured: tuple[Measurement, Measurement],
) -> None:
    first = with_fits(measured[0], [0.9, 0.8], [0.1])
    second = with_fits(measured[1], [0.9, 0.2], [0.5])
    found = compared_abstention(first, second)
    assert found is not None
    assert (found["first"], found["second"]) == (1.0, 0.5)
    assert found["difference"]["difference"] == 0.5
    assert found["difference"]["interval"][0] > 0


def test_without_probabilities_or_without_such_requests_no_areas_are_compared(
    measured: tuple[Measurement, Measurement],
) -> None:
    first, second = measured
    assert first.results[0].fits is None  # the catalog is too small to calibrate on
    assert compared_abstention(first, second) is None
    fitted = with_fits(first, [0.9], [0.1])
    answered = replace(fitted, results=fitted.results[:-2])
    assert compared_abstention(answered, answered) is None
