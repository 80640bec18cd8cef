"""Docstrings of every style, and of none."""

import pytest

from router.tools.functions.schemas import ParsedDocstring, parse_docstring

GOOGLE = """Refund a charge.

    All of it, or a part.

    Args:
        charge (str): The charge, such as ch_1:
            the one to pay back.
        amount (int, optional): Cents.
        **rest: Whatever else.

    Returns:
        The refund's id.
    """
NUMPY = """Refund a charge.

    All of it, or a part.

    Parameters
    ----------
    charge : str
        The charge, such as ch_1:
        the one to pay back.
    amount : int, optional
        Cents.
    rest
        Whatever else.
    """
SPHINX = """Refund a charge.

    All of it, or a part.

    :param charge: The charge, such as ch_1:
        the one to pay back.
    :type charge: str
    :param int amount: Cents.
    :param rest: Whatever else.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_each_style_says_the_same(text: str) -> None:
    assert parse_docstring(text) == ParsedDocstring(
        "Refund a charge.\n\nAll of it, or a part.",
        {"charge": "The charge, such as ch_1: the one to pay back.", "amount": "Cents.", "rest": "Whatever else."},
        {"charge": "string", "amount": "integer"},
    )


def test_numpy_describes_several_parameters_at_once_and_a_text_of_no_style_is_the_description() -> None:
    docs = parse_docstring("Draw.\n\nParameters\n----------\nx, y : float\n    Where.\n")
    assert (docs.parameters, docs.types) == ({"x": "Where.", "y": "Where."}, {"x": "number", "y": "number"})
    for text in ("Do it: with a colon.", "Search.\n\nSteps:\n  1. look", "Uses :class:`X` and :param"):
        assert parse_docstring(text) == ParsedDocstring(text)
    assert parse_docstring(None) == ParsedDocstring()
