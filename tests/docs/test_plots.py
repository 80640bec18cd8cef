"""The plots of the documentation show the results that the repository holds."""

import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.places import ROOT

PICTURES = ROOT / "docs" / "pictures"


def contents(path: Path) -> list[tuple[str, ...]]:
    """Return the texts and the shapes of a plot, without the ids that one version of matplotlib gives them."""
    elements = list(ET.parse(path).iter())
    return [(e.tag, (e.text or "").strip(), e.get("d", ""), e.get("x", ""), e.get("y", "")) for e in elements]


@pytest.mark.nightly
def test_the_plots_are_those_of_the_stored_results_load_nothing_and_can_be_read_in_the_dark(tmp_path: Path) -> None:
    for script in ("plots.py", "peers.py"):
        runpy.run_path(str(PICTURES / script))["main"](tmp_path)
    drawn = sorted(tmp_path.iterdir())
    assert len(drawn) >= 5
    assert [path.name for path in drawn if contents(path) != contents(PICTURES / path.name)] == []
    for path in drawn:
        text = path.read_text(encoding="utf-8")
        assert "<script" not in text and "<image" not in text, path.name
        # The comparison has no paper of its own, and colours for both.
        assert path.stem == "peers" or "prefers-color-scheme:dark" in text, path.name
