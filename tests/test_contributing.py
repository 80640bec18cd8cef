"""CONTRIBUTING.md and SECURITY.md: what they name exists, and the example changes can be applied."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.places import ROOT

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PATCHES = sorted((ROOT / "docs" / "contributing").glob("*.diff"))


@pytest.mark.parametrize("text", [CONTRIBUTING, SECURITY], ids=["CONTRIBUTING", "SECURITY"])
def test_every_place_that_is_named_exists(text: str) -> None:
    places = set(re.findall(r"`((?:\.?[\w-]+/)+[\w.-]*|[A-Z]+\.md|[\w-]+\.(?:yaml|toml))`", text)) - {"catalog.toml"}
    assert len(places) > 10
    assert {place for place in places if not (ROOT / place).exists()} == {
        place for place in places if place.startswith(".venv/")
    }


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^)make (?:[A-Z]+=\S+ )?([a-z]+)\b", CONTRIBUTING, re.MULTILINE))
    assert named == {"check", "fuzz", "lock", "patches", "test"}
    assert {target for target in named if not re.search(rf"^{target}:", makefile, re.MULTILINE)} == set()


def test_every_usual_change_has_its_example() -> None:
    assert len(PATCHES) == 6
    assert {f"docs/contributing/{path.name}" for path in PATCHES} == set(
        re.findall(r"^Example: `([\w/.-]+)`", CONTRIBUTING, re.MULTILINE)
    )


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_an_example_change_can_be_applied_and_brings_a_test(patch: Path) -> None:
    # `make patches` also runs the tests that it brings.
    done = subprocess.run(["git", "apply", "--check", patch], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\+def test_", patch.read_text(encoding="utf-8"), re.MULTILINE)
