"""The changelog: it has every version number of the code, and its sections are those of Keep a Changelog."""

import re

from pipeline.publish.snapshot_writing import VERSIONS
from tests.support.places import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\w*) ?\| (?:`(\w+)` in `([\w/]+\.py)` )?\| (\d+) \| \S.*\|$", re.MULTILINE)


def in_the_code() -> dict[tuple[str, str], int]:
    """The version numbers that the code has, by constant and file."""
    found: dict[tuple[str, str], int] = {}
    for path in (path for package in ("router", "pipeline", "flows") for path in (ROOT / package).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name, number in re.findall(r"^(\w*(?:VERSION|FORMAT))(?:: \w+)? = (\d+)\b", text, re.MULTILINE):
            found[name, path.relative_to(ROOT).as_posix()] = int(number)
    return found


def in_the_table() -> dict[tuple[str, str], list[int]]:
    """The numbers of the table, newest first, by constant and file."""
    rows: dict[tuple[str, str], list[int]] = {}
    for _, constant, file, number in ROW.findall(CHANGELOG):
        if constant:
            rows[constant, file] = []
        rows[list(rows)[-1]].append(int(number))
    return rows


def test_the_table_has_each_number_of_the_code_and_all_before_it() -> None:
    assert in_the_table() == {place: [*range(number, 0, -1)] for place, number in in_the_code().items()}


def test_the_table_has_the_versions_of_a_manifest_first_and_in_their_order() -> None:
    names = [name for name, *_ in ROW.findall(CHANGELOG) if name]
    assert names[: len(VERSIONS)] == list(VERSIONS)


def test_changes_stand_under_the_headings_of_keep_a_changelog() -> None:
    kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for release in re.split(r"^## \[", CHANGELOG, flags=re.MULTILINE)[1:]:
        headings = re.findall(r"^### (.+)$", release, re.MULTILINE)
        assert headings and set(headings) <= set(kinds) and len(headings) == len(set(headings))
