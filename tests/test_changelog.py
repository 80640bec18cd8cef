"""The changelog: it has every version number of the code, and its sections are those of Keep a Changelog."""

import ast
import re
from collections.abc import Iterator

from pipeline.publish.snapshot_writing import VERSIONS
from tests.support.places import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\w*) ?\| (?:`(\w+)` in `([\w/]+\.py)` )?\| (\d+) \| \S.*\|$", re.MULTILINE)


def in_the_code() -> dict[tuple[str, str], int]:
    """The version numbers that the code has, by constant and file."""

    def numbers() -> Iterator[tuple[tuple[str, str], int]]:
        for package in ("router", "pipeline", "flows"):
            for path in (ROOT / package).rglob("*.py"):
                for node in ast.parse(path.read_text(encoding="utf-8")).body:
                    match node:
                        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(number))):
                            if re.search(r"_?(VERSION|FORMAT)$", name):
                                yield (name, path.relative_to(ROOT).as_posix()), number

    return dict(numbers())


def in_the_table() -> dict[tuple[str, str], list[int]]:
    """The numbers of the table, newest first, by constant and file."""
    rows: dict[tuple[str, str], list[int]] = {}
    for _, constant, file, number in ROW.findall(CHANGELOG):
        if constant:
            rows[constant, file] = []
        rows[list(rows)[-1]].append(int(number))
    return rows


def test_the_table_starts_each_history_with_the_number_in_the_code() -> None:
    assert {place: history[0] for place, history in in_the_table().items()} == in_the_code()


def test_the_table_leaves_out_no_number() -> None:
    assert {place: history for place, history in in_the_table().items() if history != [*range(history[0], 0, -1)]} == {}


def test_the_table_has_the_versions_of_a_manifest_first_and_in_their_order() -> None:
    names = [name for name, *_ in ROW.findall(CHANGELOG) if name]
    assert names[: len(VERSIONS)] == list(VERSIONS)


def test_changes_stand_under_the_headings_of_keep_a_changelog() -> None:
    kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for release in re.split(r"^## \[", CHANGELOG, flags=re.MULTILINE)[1:]:
        headings = re.findall(r"^### (.+)$", release, re.MULTILINE)
        assert headings and set(headings) <= set(kinds) and len(headings) == len(set(headings))
