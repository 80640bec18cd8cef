"""Durations as people write them."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.settings.base import duration_text
from pipeline.settings.sources import SourcesSettings


@pytest.mark.parametrize(
    ("written", "duration"),
    [
        ("7d", timedelta(days=7)),
        ("12h", timedelta(hours=12)),
        ("90 m", timedelta(minutes=90)),
        ("1.5D", timedelta(hours=36)),
        ("2w", timedelta(days=14)),
        ("P7D", timedelta(days=7)),
        (0, timedelta()),
        ("0", timedelta()),
    ],
)
def test_a_duration_is_a_number_with_its_unit_or_iso_8601(written: Any, duration: timedelta) -> None:
    assert SourcesSettings(max_age=written).max_age == duration
    assert SourcesSettings().max_age == timedelta(days=7)


@pytest.mark.parametrize(
    "written", [7, 7.5, "7", "-7d", "7 moons", "", "P", "-P7D", "999999999w", True, False, "7d 2h"]
)
def test_a_bare_number_and_other_words_are_refused(written: Any) -> None:
    with pytest.raises(ValidationError):
        SourcesSettings(max_age=written)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(), "0 seconds"),
        (timedelta(seconds=1), "1 second"),
        (timedelta(hours=1.5), "1.5 hours"),
        (timedelta(days=1), "1 day"),
    ],
)
def test_a_duration_is_told_in_its_largest_unit(duration: timedelta, text: str) -> None:
    assert duration_text(duration) == text
