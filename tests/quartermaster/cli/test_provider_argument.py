"""`--provider NAME`: one label for a file or folder."""

import json
from pathlib import Path

import pytest

from pipeline.errors import SettingsInvalid
from pipeline.settings import CatalogSettings, load, with_provider
from tests.support.command_line import called

DOCUMENT = {
    "openapi": "3.0.3",
    "info": {"title": "The Acme Corporation of the North"},
    "paths": {"/issues": {"post": {"operationId": "issues/create", "summary": "Create an issue"}}},
}


def catalog(folder: Path, *labels: str) -> CatalogSettings:
    """The settings of a catalog of one source for each label."""
    rows = (f'[[source]]\npath = "{number}.json"\nprovider = "{label}"\n' for number, label in enumerate(labels))
    (folder / "catalog.toml").write_text("\n".join(rows).replace('provider = ""\n', ""), encoding="utf-8")
    return load(folder)


def test_the_label_is_that_of_every_source_unless_several_have_their_own(tmp_path: Path) -> None:
    for labels in ([""], ["acme"], ["", ""]):
        settings = with_provider(catalog(tmp_path, *labels), " github ")
        assert {source.provider for source in settings.source} == {"github"}
    settings = catalog(tmp_path, "acme", "", "linear")
    assert with_provider(settings, None) is settings
    with pytest.raises(SettingsInvalid, match=r"all 3 sources .* 2 have a label of their own \(acme, linear\)"):
        with_provider(settings, "github")
    with pytest.raises(SettingsInvalid, match="--provider is empty"):
        with_provider(settings, " ")


def test_a_build_takes_the_label_into_the_ids_and_warns_of_a_long_one(tmp_path: Path) -> None:
    (tmp_path / "github.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    line = ("build", "github.json", "--encoder", "none", "--generator", "none")
    done = called(tmp_path, *line, "--provider", "The Acme of the North")
    assert done.returncode == 0, done.stderr
    assert "the provider label of a tool is long, 'The Acme of the North'" in " ".join(done.stderr.split())
    found = called(tmp_path, "search", "create an issue", "--snapshot", done.stdout.split()[-1], "--json")
    assert [tool["tool_id"] for tool in json.loads(found.stdout)["tools"]] == ["The-Acme-of-the-North/issues-create"]
