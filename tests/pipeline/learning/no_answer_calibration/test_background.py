"""The everyday requests that ship with the project."""

from pipeline.learning.no_answer_calibration.background import background


def test_there_are_enough_of_both_sorts() -> None:
    errands = sum(everyday.is_errand for everyday in background())
    assert errands >= 100
    assert len(background()) - errands >= 200


def test_no_request_is_there_twice() -> None:
    requests = [everyday.request.lower() for everyday in background()]
    assert len(set(requests)) == len(requests)


def test_requests_are_short_and_long() -> None:
    lengths = sorted(len(everyday.request.split()) for everyday in background())
    assert lengths[len(lengths) // 20] <= 4
    assert lengths[-len(lengths) // 20] >= 30
