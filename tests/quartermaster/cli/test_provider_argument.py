"""`--provider NAME`: one label for a file or folder."""

import json
from pathlib import Path

import pytest

from pipeline.errors import SettingsInvalid
from pipeline.settings import load, with_provider
from tests.support.command_line import called

DOCUMENT = {
    "openapi": "3.0.3",
    "info": {"title": "The Acme Corporation of the North"},
    "paths": {"/issues": {"post": {"operationId": "issues/create", "summary": "Create an issue"}}},
}


def catalog(folder: Path, *labels: str | None) -> Path:
    """A catalog of one source for each label."""
    rows = [
        f'[[source]]\npath = "{number}.json"\n' + (f'provider = "{label}"\n' if label else "")
        for number, label in enumerate(labels)
    ]
    (folder / "catalog.toml").write_text("\n".join(rows), encoding="utf-8")
    return folder


@pytest.mark.parametrize("labels", [[None], ["acme"], [None, None]])
def test_the_label_of_the_command_line_is_that_of_every_source(tmp_path: Path, labels: list[str | None]) -> None:
    settings = with_provider(load(catalog(tmp_path, *labels)), " github ")
    assert {source.provider for source in settings.source} == {"github"}


def test_sources_with_labels_of_their_own_do_not_lose_them(tmp_path: Path) -> None:
    settings = load(catalog(tmp_path, "acme", None))
    assert with_provider(settings, None) is settings
    with pytest.raises(SettingsInvalid, match=r"all 3 sources .* 2 have a label of their own \(acme, linear\)"):
        with_provider(load(catalog(tmp_path, "acme", None, "linear")), "github")
    with pytest.raises(SettingsInvalid, match="--provider is empty"):
        with_provider(settings, " ")


def test_a_build_takes_the_label_into_the_ids_and_tells_of_a_long_one(tmp_path: Path) -> None:
    (tmp_path / "github.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    line = ["build", "github.json", "--encoder", "none", "--generator", "none"]
    done = called(tmp_path, *line, "--provider", "The Acme of the North")
    assert done.returncode == 0, done.stderr
    assert "the provider label of a tool is long, 'The Acme of the North'" in " ".join(done.stderr.split())
    found = called(tmp_path, "search", "create an issue", "--snapshot", done.stdout.split()[-1], "--json")
    assert [tool["tool_id"] for tool in json.loads(found.stdout)["tools"]] == ["The-Acme-of-the-North/issues-create"]
