"""examples/functions_in_memory.py: Python functions, no build and no model."""

from tests.examples.conftest import Run


def test_the_function_that_fits_is_called_with_typed_arguments(run: Run) -> None:
    printed = run("functions_in_memory.py")
    assert "1. refund_order, rank by signal: {" in printed
    assert "of 4 tools, first refund_order:" in printed
    assert printed.splitlines()[-1] == "  refunded A-17: 12.5, because it was broken"


def test_a_date_is_read_from_text_and_wrong_arguments_are_refused_with_the_reason(run: Run) -> None:
    request = "is my parcel on its way"
    printed = run("functions_in_memory.py", request, '{"order": "A-17", "since": "2026-01-02"}')
    assert printed.splitlines()[-1] == "  A-17 left the warehouse after 02 January 2026"
    printed = run("functions_in_memory.py", request, '{"order": "A-17"}')
    assert printed.splitlines()[-1] == "  refused: track_parcel: the argument 'since' is missing"
