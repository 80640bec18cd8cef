"""JSON of any shape in the words of a format: mostly wrong, sometimes right."""

from typing import Any

from hypothesis import strategies as st


def hostile_json(words: str, *values: Any) -> st.SearchStrategy[Any]:
    """JSON whose objects have these words as keys, and among whose leaves are these values."""
    leaves = st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text(st.characters(), max_size=6)
    return st.recursive(
        leaves | st.sampled_from(values) if values else leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(words.split()), inner, max_size=5)
            | st.dictionaries(st.text(st.characters(), max_size=4), inner, max_size=2)
        ),
        max_leaves=14,
    )
