"""A catalog of which most was compared before gets the verdicts of one that is compared whole."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pipeline.phrase_checks.assessment import assess
from pipeline.phrase_checks.comparison import ComparisonCache
from pipeline.phrase_checks.vectors import AssessedTool, CatalogVectors
from tests.pipeline.phrase_checks.test_assessment import LOOSE, SEEDS, random_catalog

# As `assess` takes it: tools, the vectors of their records, of their interfaces and of their phrases.
Catalog = tuple[Sequence[AssessedTool], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]


def changed(seed: int, tools: int) -> tuple[Catalog, Catalog]:
    """A random catalog, and the same after tools were added, removed, renamed, reworded and given other phrases."""
    subjects, records, phrases = random_catalog(seed, tools, axes=False)
    others, other_records, other_phrases = random_catalog(seed + 1, tools, axes=False)
    rng = np.random.default_rng(seed)
    after = []
    for tool in range(tools):
        fate = rng.integers(0, 8)
        own = (subjects[tool], records[tool], phrases[tool])
        if fate == 0:  # another tool, with texts of its own
            other = type(own[0])(
                f"u{tool}", f"u{tool}", others[tool].content, tuple(f"u{p}" for p in others[tool].phrases)
            )
            own = (other, other_records[tool], other_phrases[tool])
        elif fate == 1:  # removed
            continue
        elif fate == 2:  # other phrases
            texts = tuple(f"v{phrase}" for phrase in others[tool].user_phrases)
            own = (type(own[0])(own[0].tool_id, own[0].text, own[0].content, texts), own[1], other_phrases[tool])
        after.append(own)
    if not after:
        after.append((subjects[0], records[0], phrases[0]))
    left, left_records, left_phrases = zip(*after, strict=True)
    return (
        (subjects, np.vstack(records), np.vstack(records), np.vstack(phrases)),
        (left, np.vstack(left_records), np.vstack(left_records), np.vstack(left_phrases)),
    )


@settings(max_examples=settings().max_examples // 4 or 1)  # each assesses five catalogs
@given(seed=SEEDS, tools=st.integers(1, 40), block=st.sampled_from([50, 8_000_000]))
def test_verdicts_are_the_same_with_and_without_memory(seed: int, tools: int, block: int) -> None:
    before, after = changed(seed, tools)
    first = ComparisonCache()
    assert assess(*before, LOOSE, cache=first) == assess(*before, LOOSE)
    second = ComparisonCache(first.current)
    assert assess(*after, LOOSE, cache=second, block=block) == assess(*after, LOOSE)
    # And once more from what was kept of both.
    assert assess(*after, LOOSE, cache=ComparisonCache(second.current)) == assess(*after, LOOSE)


def test_nothing_is_compared_that_was_compared_before(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog, _ = changed(3, 40)
    cache = ComparisonCache()
    found = assess(*catalog, LOOSE, cache=cache)

    def refuse(*_: object) -> None:
        raise AssertionError("texts were compared")

    monkeypatch.setattr(CatalogVectors, "competitors", refuse)
    assert assess(*catalog, LOOSE, cache=ComparisonCache(cache.current)) == found


def test_a_text_that_fits_too_many_tools_is_compared_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = changed(11, 40)
    monkeypatch.setattr("pipeline.phrase_checks.comparison._MOST_KEPT", 3)
    cache = ComparisonCache()
    assess(*before, LOOSE, cache=cache)
    assert 0 < len(cache.current["phrases.texts"]) < len(before[3])
    assert np.unique(cache.current["phrases.entry_texts"], return_counts=True)[1].max() <= 3
    assert assess(*after, LOOSE, cache=ComparisonCache(cache.current)) == assess(*after, LOOSE)


def test_what_was_compared_comes_back_from_its_file(tmp_path: Path) -> None:
    catalog, _ = changed(5, 40)
    cache = ComparisonCache()
    assess(*catalog, LOOSE, cache=cache)
    cache.save(tmp_path / "kept" / "c.npz", "state")
    opened = ComparisonCache.open(tmp_path / "kept" / "c.npz", "state").previous
    assert ComparisonCache.open(tmp_path / "kept" / "c.npz", "another encoder").previous == {}
    assert len(opened) == len(cache.current) + 1  # and the state
    assert all(np.array_equal(opened[name], array) for name, array in cache.current.items())
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["c.npz"]


@pytest.mark.parametrize("content", [None, b"", b"damaged", b"PK\x03\x04 cut short"])
def test_a_missing_or_damaged_file_is_nothing(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "c.npz").write_bytes(content)
    assert ComparisonCache.open(tmp_path / "c.npz", "state").previous == {}
