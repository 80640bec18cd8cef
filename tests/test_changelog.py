"""The table of versions has every number of the code, and the changelog the sections of Keep a Changelog."""

import re

from pipeline.publish.snapshot_writing import VERSIONS
from tests.support.places import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
FORMAT_PAGE = (ROOT / "docs" / "snapshot_format.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\w+) \| `(\w+)` in `([\w/]+\.py)` \| (\d+) \| \S.*\|$", re.MULTILINE)


def test_the_table_of_versions_has_the_numbers_of_the_code() -> None:
    in_the_code: dict[tuple[str, str], int] = {}
    for path in (
        path for package in ("router", "pipeline", "quartermaster", "flows") for path in (ROOT / package).rglob("*.py")
    ):
        text = path.read_text(encoding="utf-8")
        for name, number in re.findall(r"^(\w*(?:VERSION|FORMAT))(?:: \w+)? = (\d+)\b", text, re.MULTILINE):
            in_the_code[name, path.relative_to(ROOT).as_posix()] = int(number)
    in_the_table = {(constant, file): int(number) for _, constant, file, number in ROW.findall(FORMAT_PAGE)}
    assert in_the_table == in_the_code


def test_the_table_has_the_versions_of_a_manifest_first_and_in_their_order() -> None:
    assert [name for name, *_ in ROW.findall(FORMAT_PAGE)][: len(VERSIONS)] == list(VERSIONS)


def test_changes_stand_under_the_headings_of_keep_a_changelog() -> None:
    kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for release in re.split(r"^## \[", CHANGELOG, flags=re.MULTILINE)[1:]:
        headings = re.findall(r"^### (.+)$", release, re.MULTILINE)
        assert headings and set(headings) <= set(kinds) and len(headings) == len(set(headings))
