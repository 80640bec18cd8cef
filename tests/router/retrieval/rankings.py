"""Rankings of few tools, given and drawn."""

import numpy as np
from hypothesis import strategies as st

from router import Signal
from router.retrieval.retrievers import Ranking

TOOLS = 12


def ranking(*pairs: tuple[int, float], center: float = 0.0, spread: float = 1.0) -> Ranking:
    """The ranking of these ordinals by these scores."""
    ordinals, scores = np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.float64)
    return Ranking.of(ordinals, scores, center, spread)


def rankings(least: float = 0.0) -> st.SearchStrategy[Ranking]:
    """Rankings of some of TOOLS by scores of `least` to 50."""
    scores = st.dictionaries(st.integers(0, TOOLS - 1), st.floats(least, 50), max_size=TOOLS)
    return scores.map(lambda drawn: ranking(*drawn.items()))


some_lists = st.fixed_dictionaries({signal: rankings() for signal in Signal})
