"""The formats that settings know, and those that are read."""

from typing import get_args

from pipeline.settings.source_formats import SourceFormat
from pipeline.sources.formats import READERS


def test_every_format_of_the_settings_has_a_reader_and_no_other_has() -> None:
    assert set(READERS) == set(get_args(SourceFormat))
