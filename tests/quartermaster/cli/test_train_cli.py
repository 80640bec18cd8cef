"""`train` makes an encoder of catalogs and requests that another catalog can name."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pipeline.build import build
from pipeline.settings import load
from quartermaster.cli.main import app
from quartermaster.training import TrainingReport
from router.contract import Manifest
from router.errors import SettingsInvalid

pytestmark = pytest.mark.nightly  # torch takes 4 s to import

_FIRST, _SECOND = "abcdefgh", "ijklmn"


def other(name: str) -> str:
    """What requests say for a tool's name: another letter for each, by one rule."""
    return " ".join(chr(ord(letter) + 14 - (letter in _SECOND) * 2) for letter in name)


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 tools of 24 providers; requests.jsonl has four requests and a long one for each, rows of two shapes."""
    folder = tmp_path_factory.mktemp("train") / "letters"
    folder.mkdir()
    names = [first + second for first in _FIRST for second in _SECOND]
    tools = [
        {"id": f"p{place // 2}/{name}", "name": name, "provider": f"p{place // 2}", "description": " ".join(name)}
        for place, name in enumerate(names)
    ]
    rows: list[dict[str, object]] = [
        {"catalog": "letters", "id": tool["id"], "phrases": [f"{other(tool['name'])} {number}" for number in range(4)]}
        for tool in tools
    ]
    rows += [{"tools": [{"id": tool["id"]}], "request": f"{other(tool['name'])} now"} for tool in tools]
    for file, lines in (("tools.jsonl", tools), ("requests.jsonl", rows)):
        (folder / file).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


def train(letters: Path, out: Path, encoder: Path, *options: str) -> Result:
    arguments: Sequence[str] = (
        *("train", str(letters), "--requests", str(letters / "requests.jsonl"), "--base", str(encoder)),
        *("--out", str(out), "--workspace", str(out.parent / "ws"), "--rank", "0", "--rate", "0.01", *options),
    )
    return CliRunner().invoke(app, arguments)


def test_a_trained_encoder_serves_another_catalog(
    letters: Path, encoder_folder: Path, catalog_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A random model of two layers is no good student.
    monkeypatch.setattr(TrainingReport, "is_gain", property(lambda report: True))
    result = train(letters, tmp_path / "ours", encoder_folder, "--steps", "4", "--json", str(tmp_path / "card.json"))
    assert result.exit_code == 0, result.output
    figures = json.loads((tmp_path / "card.json").read_text("utf-8"))
    card = json.loads((tmp_path / "ours" / "training.json").read_text("utf-8"))
    assert {name: card[name] for name in figures} == figures
    assert (figures["data"]["tools"], figures["data"]["catalogs"]) == (48, ["letters"])
    assert figures["data"]["pairs"] + figures["data"]["held_out"] == 240
    assert [row["catalog"] for row in figures["gain"]["rows"]] == ["all", "letters"]
    settings = load(catalog_folder, {"vectors": {"encoder": str(tmp_path / "ours")}}, environment={})
    manifest = Manifest.read(build(settings, workspace=tmp_path / "ws").snapshot)
    assert manifest.encoder is not None and manifest.encoder.model == "ours"


def test_a_folder_that_exists_is_refused(letters: Path, encoder_folder: Path, tmp_path: Path) -> None:
    result = train(letters, tmp_path, encoder_folder)
    assert isinstance(result.exception, SettingsInvalid) and "exists" in str(result.exception)
