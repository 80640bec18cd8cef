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


def test_a_bare_folder_is_a_catalog_of_its_tool_files(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "my office", "b.yaml", "a.json", "d.yml", "c.jsonl", "notes.txt", "README.md")
    (folder / "sub.json").mkdir()
    settings = load(folder, environment={})
    assert (settings.name, settings.folder) == ("my-office", folder)
    assert [str(source.path) for source in settings.source] == ["a.json", "b.yaml", "c.jsonl", "d.yml"]


def test_a_link_that_leads_nowhere_is_a_source_that_will_be_told(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "office", "a.json")
    (folder / "b.json").symlink_to(tmp_path / "gone.json")
    assert [str(source.path) for source in load(folder, environment={}).source] == ["a.json", "b.json"]


@pytest.mark.parametrize("named", ["", "tools.jsonl"])
def test_a_tools_jsonl_is_called_like_its_folder(tmp_path: Path, named: str) -> None:
    folder = _touch(tmp_path / "ToolRet web", "tools.jsonl")
    assert load(folder / named, environment={}).name == "ToolRet-web"


def test_tools_jsonl_alone_is_read_of_a_folder_that_has_it(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "office", "tools.jsonl", "requests.jsonl", "a.json")
    assert [str(source.path) for source in load(folder, environment={}).source] == ["tools.jsonl"]


@pytest.mark.parametrize("named", ["", "tools.jsonl"])
def test_expansions_beside_tools_jsonl_are_taken(tmp_path: Path, named: str) -> None:
    folder = _touch(tmp_path / "office", "tools.jsonl", "expansions.jsonl")
    assert load(folder / named, environment={}).enrichment.expansions == Path("expansions.jsonl")
    _touch(folder, "mail.json")
    assert load(folder / "mail.json", environment={}).enrichment.expansions is None


def test_bare_files_take_environment_and_arguments_too(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "office", "tools.jsonl", "expansions.jsonl")
    settings = load(folder, {"enrichment": {"model": "x"}}, {"QUARTERMASTER_PUBLISH__KEEP": "2"})
    assert (settings.enrichment.model, settings.publish.keep) == ("x", 2)
    assert settings.enrichment.expansions == Path("expansions.jsonl")


def test_a_folder_without_tools_is_refused(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "office", "notes.txt")
    with pytest.raises(SettingsInvalid) as refused:
        load(folder, environment={})
    assert str(refused.value) == (
        f"{folder} holds neither catalog.toml nor a .json, .jsonl or .yaml file of tools, nor a folder with a SKILL.md"
    )


def test_expansions_and_judgements_beside_tool_files_are_no_tools(tmp_path: Path) -> None:
    for name in ("api.yaml", "expansions.jsonl", "judgements.jsonl", "meta.json", "queries.jsonl", "notes.txt"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    assert [source.path for source in load(tmp_path, environment={}).source] == [Path("api.yaml")]


def test_files_of_windows_with_endings_in_capitals_are_sources(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "office", "MAIL.JSON", "Api.Yaml")
    assert {str(source.path) for source in load(folder, environment={}).source} == {"MAIL.JSON", "Api.Yaml"}


def test_what_a_folder_holds_beside_its_sources_is_told(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "office", "mail.json", "more.csv", "rows.ndjson", "README.md", ".hidden.json")
    _touch(folder / "sub", "deeper.json")
    _touch(folder, "judgements.jsonl")
    settings = load(folder, environment={})
    assert left_out(folder, settings) == ("more.csv", "rows.ndjson", "sub/")
    assert left_out(folder / "mail.json", load(folder / "mail.json", environment={})) == ()
    _touch(folder, "tools.jsonl")
    assert "mail.json" in left_out(folder, load(folder, environment={}))


def test_a_catalog_names_what_it_means(tmp_path: Path) -> None:
    folder = _touch(tmp_path / "office", "mail.json", "other.json")
    (folder / "catalog.toml").write_text('[[source]]\npath = "mail.json"\n', encoding="utf-8")
    assert left_out(folder, load(folder, environment={})) == ()


def test_a_folder_of_skills_is_its_own_source(tmp_path: Path) -> None:
    (tmp_path / "office" / "pdf").mkdir(parents=True)
    (tmp_path / "office" / "pdf" / "SKILL.md").write_text("# PDF\n\nFill in forms.\n", encoding="utf-8")
    settings = load(tmp_path / "office", environment={})
    assert [source.path for source in settings.source] == [Path(".")]
    assert settings.resolve(Path(".")) == tmp_path / "office"


@pytest.mark.parametrize("place", ["skills/pdf/SKILL.md", "pdf/skill.md", "SKILL.md"])
def test_skills_are_found_a_folder_down_as_their_repositories_have_them(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text("# PDF\n\nFill in forms.\n", encoding="utf-8")
    assert [source.path for source in load(tmp_path, environment={}).source] == [Path(".")]


def test_a_hidden_folder_of_skills_is_no_source_by_itself(tmp_path: Path) -> None:
    (tmp_path / ".git" / "pdf").mkdir(parents=True)
    (tmp_path / ".git" / "pdf" / "SKILL.md").write_text("# PDF\n", encoding="utf-8")
    with pytest.raises(SettingsInvalid, match="nor a folder with a"):
        load(tmp_path, environment={})
