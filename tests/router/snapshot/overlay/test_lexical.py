"""BM25 of registered tools, compared with Tantivy's of the same tools in its index."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pipeline.indexing.lexical import write_lexical
from router.retrieval.retrievers import Admitted, LexicalRetriever
from router.snapshot.overlay.lexical import OverlaidLexical
from router.text import terms, terms_by_language
from router.tools.field_text import FieldDocuments

BASE, LATER = 300, 12
WORDS = [f"{a}{b}{c}" for a in "bdfgklmn" for b in "aeiou" for c in "bdglmnrt"]


def _texts() -> list[str]:
    """Return texts of 1 to 400 words; words at the beginning of the vocabulary are common."""
    draw = random.Random(7)
    lengths = [draw.choice([1, 3, 12, 39, 41, 90, 400]) for _ in range(BASE + LATER)]
    return [" ".join(WORDS[min(int(draw.expovariate(0.02)), len(WORDS) - 1)] for _ in range(n)) for n in lengths]


def _index(folder: Path, texts: list[str]) -> tuple[LexicalRetriever, float]:
    documents = [FieldDocuments(f"tool{i}", text, "", "", "", ()) for i, text in enumerate(texts)]
    write_lexical(documents, folder)
    return LexicalRetriever.open(folder / "name", len(texts)), sum(map(len, map(terms, texts))) / len(texts)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> tuple[OverlaidLexical, LexicalRetriever]:
    """The later texts over an index of the others, and one index of them all."""
    texts = _texts()
    whole, _ = _index(tmp_path_factory.mktemp("whole"), texts)
    base, mean = _index(tmp_path_factory.mktemp("base"), texts[:BASE])
    return OverlaidLexical(base, [Counter(terms(text)) for text in texts[BASE:]], BASE, mean), whole


def test_a_registered_tool_scores_as_it_would_in_the_index(indexes: tuple[OverlaidLexical, LexicalRetriever]) -> None:
    overlaid, whole = indexes
    for seed in range(20):
        request = random.Random(seed).sample(WORDS[:60], 6)
        ours, theirs = (side.rank_terms(request, BASE + LATER) for side in (overlaid, whole))
        scores, expected = (dict(zip(r.ordinals.tolist(), r.scores.tolist(), strict=True)) for r in (ours, theirs))
        assert scores.keys() == expected.keys()
        later = [tool for tool in scores if tool >= BASE]
        # Rarity among 300 texts and among 312, and mean lengths, differ by that much.
        assert [scores[tool] for tool in later] == pytest.approx([expected[tool] for tool in later], rel=0.05)
        ranks, ranked = (dict(zip(r.ordinals.tolist(), range(len(r)), strict=True)) for r in (ours, theirs))
        assert max(abs(ranks[tool] - ranked[tool]) for tool in later) <= 6  # of some 200


def test_a_word_that_only_registered_tools_have_finds_them(indexes: tuple[OverlaidLexical, LexicalRetriever]) -> None:
    overlaid = OverlaidLexical(indexes[1], [Counter(["zoom", "meet"]), Counter(["meet"])], BASE + LATER, 40.0)
    found = overlaid.rank_terms(["zoom", "meet"], 5)
    assert found.ordinals.tolist() == [BASE + LATER, BASE + LATER + 1]
    assert np.isfinite(found.scores).all()


def test_depth_and_filters_hold_over_both(indexes: tuple[OverlaidLexical, LexicalRetriever]) -> None:
    overlaid, _ = indexes
    every = overlaid.rank_terms(WORDS[:5], BASE + LATER).ordinals.tolist()
    assert overlaid.rank_terms(WORDS[:5], 9).ordinals.tolist() == every[:9]
    mask = np.zeros(BASE + LATER, bool)
    mask[every[1::2]] = True
    assert overlaid.rank_terms(WORDS[:5], 9, Admitted(mask)).ordinals.tolist() == every[1::2][:9]
    said = " ".join(WORDS[:4])
    by_language = overlaid.rank_by_language(terms_by_language(said, ["en"]), 20)
    assert by_language.ordinals.tolist() == overlaid.rank_terms(terms(said), 20).ordinals.tolist()
    assert len(overlaid.rank_terms([], 9)) == len(overlaid.rank_terms(WORDS[:5], 9, Admitted(np.zeros_like(mask)))) == 0
