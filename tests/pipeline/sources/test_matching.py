"""Sources that name many files by a folder or pattern: which, in which order, under which label, and what is told."""

import json
import os
from pathlib import Path

import pytest

from pipeline.errors import RunAborted
from pipeline.publish.gates import served_sources
from pipeline.settings import SourceSettings
from pipeline.sources import Reading
from pipeline.sources.last_reading import source_keys
from tests.pipeline.sources.reading import read_all

_FILES = (
    "reg/top.json", "reg/github/tools.json", "reg/slack/v1/tools.json", "reg/slack/v1/api.YAML",
    "reg/sp ace/[id]/ü.json", "reg/github/expansions.jsonl", "reg/github/rows.ndjson", "reg/README.md",
    "reg/.git/config.json", "reg/.mcp.json", "reg/node_modules/x/package.json",
)  # fmt: skip
_ALL = ["github/tools.json", "slack/v1/api.YAML", "slack/v1/tools.json", "sp ace/[id]/ü.json", "top.json"]
_JSON = [name for name in _ALL if name.endswith("json")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (*_FILES, "../outside.json"):
        file = tmp_path / "catalog" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        # One tool a file: JSON is YAML and a line of JSONL, too.
        file.write_text(json.dumps([{"name": name.replace("/", " "), "description": "Does it."}]), encoding="utf-8")
    return tmp_path / "catalog"


def _paths(reading: Reading) -> list[str]:
    return [str(source.path).removeprefix("reg/") for source in reading.read_from]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("reg", _ALL),
        (".", _ALL),
        ("reg/**", _ALL),
        ("reg/*", ["top.json"]),
        ("reg/**/*.json", _JSON),
        (r"reg\**\*.json", _JSON),
        ("reg/**/*.{json,yaml}", _ALL),
        ("reg/**/t*s.json", ["github/tools.json", "slack/v1/tools.json"]),
        ("reg/*/tools.json", ["github/tools.json"]),
        ("reg/slack/**/v[0-9]/[!t]*", ["slack/v1/api.YAML"]),
        ("reg/sp ace/[id]/?.json", ["sp ace/[id]/ü.json"]),
        ("reg/**/u\u0308.json", ["sp ace/[id]/ü.json"]),
        ("reg/.git/*.json", [".git/config.json"]),
        ("reg/sp ace/[id]/ü.json", ["sp ace/[id]/ü.json"]),  # a file of this very name
        ("reg/**/*.nd*", ["github/rows.ndjson"]),
        ("../*.json", ["../outside.json"]),
        ("{folder}/reg/**/t*.json", ["{folder}/reg/github/tools.json", "{folder}/reg/slack/v1/tools.json",
                                     "{folder}/reg/top.json"]),
    ],
)  # fmt: skip
def test_a_folder_or_pattern_names_files_in_the_order_of_their_paths(folder: Path, path: str, found: list[str]) -> None:
    reading = read_all(
        folder, {"path": path.replace("{folder}", str(folder)), "format": "function" if "nd" in path else None}
    )
    assert _paths(reading) == [name.replace("{folder}", str(folder)) for name in found]
    assert len(reading.tools) == len(reading.coverage) == reading.sources == len(found) and reading.notes == ()
    assert len({*reading.keys}) == len(found)
    if not path.startswith("{"):
        assert [tool.origin.file.removeprefix("reg/") for tool in reading.tools] == found


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("reg/**/*.csv", r"'\.git/', '\.mcp\.json', 'README\.md', 'empty/', 'github/', .* and 2 more"),
        ("gone/**/*.json", r"the source gone/\*\*/\*\.json names no file: .*catalog holds 'reg/'"),
        ("reg/[z-a].json", "names no file"),
        ("reg/node_modules/x/*.md", r"x holds 'package\.json'"),
        ("reg/out*", r"left out: 'reg/out\.json' \(it leads out\)"),
        ("reg/empty", "empty holds nothing"),
    ],
)
def test_where_nothing_fits_the_place_and_what_lies_there_are_told(folder: Path, path: str, told: str) -> None:
    (folder / "reg/out.json").symlink_to(folder.parent / "outside.json")
    (folder / "reg/empty").mkdir()
    with pytest.raises(RunAborted, match=told):
        read_all(folder, {"path": path})
    one = {"path": "reg/top.json"}
    skipped = read_all(folder, one, {"path": path}, sources={"skip_unreadable": True})
    assert [gap.source for gap in skipped.gaps] == [path] and len(skipped.tools) == 1


def test_links_that_lead_out_and_names_that_cannot_be_shown_are_left_out_and_told(folder: Path) -> None:
    reg = folder / "reg"
    (reg / "out.json").symlink_to(folder.parent / "outside.json")
    (reg / "a-link.json").symlink_to("github/tools.json")  # the file itself is read, not the link before it
    (reg / "data.json").symlink_to(".git/config.json")  # as Kubernetes mounts what it configures
    (reg / "again").symlink_to(reg / "slack")
    (reg / "x\x1b[31m.json").write_text("[]", encoding="utf-8")
    os.mkfifo(reg / "pipe.json")
    reading = read_all(folder, {"path": "reg/**/*.json"})
    assert sorted([*_JSON, "data.json"]) == sorted(_paths(reading))
    (note,) = reading.notes
    assert (
        note.isprintable() and note.startswith("the source reg/**/*.json leaves out ") and note.endswith("and 1 more")
    )


def test_a_file_that_two_sources_name_is_read_once_by_the_one_that_names_it_alone(folder: Path) -> None:
    sources = {"path": "reg/*/*.json", "provider": "a"}, {"path": "reg"}, {"path": "reg/top.json", "provider": "own"}
    reading = read_all(folder, *sources)
    assert _paths(reading) == ["github/tools.json", *_ALL[1:4], "top.json"]
    assert [tool.provider for tool in reading.tools] == ["a", "api", "tools", "ü", "own"]
    assert "'reg/github/tools.json' (it is named elsewhere too)" in reading.notes[0]


@pytest.mark.parametrize(
    ("label", "labels"),
    [
        ("{folder}", ["github", "v1"]),
        ("{file}", ["tools", "tools"]),
        ("acme-{folder}-{file}", ["acme-github-tools", "acme-v1-tools"]),
        ("ours", ["ours", "ours"]),
        (None, ["tools", "tools"]),
    ],
)
def test_a_label_may_hold_the_names_of_folder_and_file(folder: Path, label: str | None, labels: list[str]) -> None:
    reading = read_all(folder, {"path": "reg/**/tools.json", "provider": label})
    assert [tool.provider for tool in reading.tools] == labels
    alone = [SourceSettings(path=Path("reg") / path, provider=label and one)
             for path, one in zip(_paths(reading), labels, strict=True)]  # fmt: skip
    assert tuple(source_keys(alone)) == reading.keys  # so entries that become a pattern keep their last known records


def test_each_file_fails_alone_and_one_that_went_is_no_longer_in_the_catalog(folder: Path) -> None:
    before = read_all(folder, {"path": "reg"})
    (folder / "reg/top.json").unlink()
    (folder / "reg/github/tools.json").write_text("{bad", encoding="utf-8")
    with pytest.raises(RunAborted, match=r"reg/github/tools\.json is not readable JSON"):
        read_all(folder, {"path": "reg"})
    after = read_all(folder, {"path": "reg"}, sources={"skip_unreadable": True})
    assert [gap.source for gap in after.gaps] == ["reg/github/tools.json"]
    assert set(after.keys) < set(before.keys)
    origins = {tool.name: tool.origin.file for tool in before.tools}
    served = served_sources(origins, (), after.read_from, after.gaps)
    assert {one.source.removeprefix("reg/"): one.listed for one in served} == {
        name: name != "top.json" for name in _ALL if name != "github/tools.json"
    }


def test_fields_and_format_hold_for_each_file_and_skills_stay_one_source(folder: Path) -> None:
    reading = read_all(folder, {"path": "reg", "format": "function", "fields": {"name": "description"}})
    assert {tool.name for tool in reading.tools} == {"Does it."}
    (folder / "reg/pdf").mkdir()
    (folder / "reg/pdf/SKILL.md").write_text("# PDF\n\nFill in forms.\n", encoding="utf-8")
    skills = read_all(folder, {"path": "reg"})
    assert [tool.name for tool in skills.tools] == ["pdf"] and skills.sources == 1
    assert [tool.name for tool in read_all(folder, {"path": "reg/**/SKILL.md"}).tools] == ["pdf"]


def test_more_files_than_the_limit_stop_with_it(folder: Path) -> None:
    with pytest.raises(RunAborted, match=r"names more than the 3 files of limits\.files: narrow it"):
        read_all(folder, {"path": "reg"}, limits={"files": 3})
