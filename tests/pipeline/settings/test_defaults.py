"""Settings without a catalog.toml: what a bare file or folder means."""

from pathlib import Path

import pytest

from pipeline.errors import SettingsInvalid
from pipeline.settings import SourceSettings, left_out, load


def _touch(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("mail.functions.json", "mail.functions"),
        ("my tools!.yaml", "my-tools"),
        (".json", "json"),
        ("顧客.json", "catalog"),
    ],
)
def test_a_bare_file_is_a_catalog_of_one_source(tmp_path: Path, file: str, name: str) -> None:
    _touch(tmp_path, file)
    settings = load(tmp_path / file, environment={})
    assert (settings.name, settings.folder) == (name, tmp_path)
    assert settings.source == (SourceSettings(path=Path(file)),)
    assert settings.enrichment.expansions is None


def test_a_bare_folder_is_a_catalog_of_its_tool_files_and_of_nothing_else_in_it(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "my office", "b.yaml", "a.json", "d.yml", "c.jsonl", "notes.txt", "README.md", "UP.JSON")
    _touch(folder, "expansions.jsonl", "judgements.jsonl", "meta.json", "queries.jsonl", "usage.jsonl")
    (folder / "sub.json").mkdir()
    (folder / "gone.json").symlink_to(tmp_path / "nowhere")  # a source that will be told
    settings = load(folder, environment={})
    assert (settings.name, settings.folder) == ("my-office", folder)
    found = [str(source.path) for source in settings.source]
    assert found == ["UP.JSON", "a.json", "b.yaml", "c.jsonl", "d.yml", "gone.json"]


@pytest.mark.parametrize("named", ["", "tools.jsonl"])
def test_tools_jsonl_is_read_alone_called_like_its_folder_and_has_the_expansions_beside_it(
    tmp_path: Path, named: str
) -> None:
    folder = _touch(tmp_path / "ToolRet web", "tools.jsonl", "expansions.jsonl", "requests.jsonl", "mail.json")
    settings = load(folder / named, {"enrichment": {"model": "x"}}, {"QUARTERMASTER_PUBLISH__KEEP": "2"})
    assert settings.name == "ToolRet-web" and [str(source.path) for source in settings.source] == ["tools.jsonl"]
    assert settings.enrichment.expansions == Path("expansions.jsonl")
    assert (settings.enrichment.model, settings.publish.keep) == ("x", 2)
    assert load(folder / "mail.json", environment={}).enrichment.expansions is None


@pytest.mark.parametrize("place", ["skills/pdf/SKILL.md", "pdf/skill.md", "SKILL.md", ".git/pdf/SKILL.md", "notes.txt"])
def test_a_folder_of_skills_is_its_own_source_and_one_without_tools_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text("# PDF\n\nFill in forms.\n", encoding="utf-8")
    if place.startswith((".git", "notes")):
        with pytest.raises(SettingsInvalid, match=r"neither catalog\.toml nor a .json, .* with a SKILL\.md"):
            load(tmp_path, environment={})
    else:
        settings = load(tmp_path, environment={})
        assert [settings.resolve(source.path or Path("x")) for source in settings.source] == [tmp_path]


def test_subfolders_are_sources_after_the_files_but_for_skills_other_catalogs_and_what_is_hidden(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "registry"
    for name in ("z.json", "a/deep/t.yaml", "b/t.JSON", "s/pdf/SKILL.md", "s/pdf/x.json", "c/catalog.toml", "c/t.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        _touch(folder, name)
    for name in (".git", "node_modules", "empty", "usage"):
        _touch(folder / name, "usage.jsonl" if name == "usage" else "x.json" if name != "empty" else "notes.txt")
    (folder / "link").symlink_to(folder / "a")
    settings = load(folder, environment={})
    assert [str(source.path) for source in settings.source] == ["z.json", "a", "b"]
    assert {"c/", "s/"} <= set(left_out(folder, settings)) and not {"a/", "b/"} & set(left_out(folder, settings))
    (folder / "z.json").unlink()  # nothing but subfolders: skills come first, as ever
    assert [str(source.path) for source in load(folder, environment={}).source] == ["."]
    (folder / "s/pdf/SKILL.md").unlink()
    assert [str(source.path) for source in load(folder, environment={}).source] == ["a", "b", "s"]


def test_what_a_folder_holds_beside_its_sources_is_told(tmp_path: Path) -> None:
    folder = _touch(
        tmp_path / "office", "mail.json", "more.csv", "rows.ndjson", "README.md", ".hidden.json", "x\x1b[m.json"
    )
    _touch(folder / "sub", "deeper.csv")
    _touch(folder, "judgements.jsonl")
    settings = load(folder, environment={})
    assert left_out(folder, settings) == ("more.csv", "rows.ndjson", "sub/", r"'x\x1b[m.json'")
    assert left_out(folder / "mail.json", load(folder / "mail.json", environment={})) == ()
    _touch(folder, "tools.jsonl")
    assert "mail.json" in left_out(folder, load(folder, environment={}))
    (folder / "catalog.toml").write_text('[[source]]\npath = "mail.json"\n', encoding="utf-8")
    assert left_out(folder, load(folder, environment={})) == ()  # a catalog names what it means
