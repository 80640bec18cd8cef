"""What `auto` would choose now is known without the hub, and without packages that take time to import."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.encoders import automatic
from pipeline.encoders.automatic import INSTALLED, PREFERRED, automatic_choice, is_on_disk, newer_choice, untuned_name
from pipeline.encoders.export import PACKAGED, TOOLS_ENCODER
from pipeline.settings import VectorSettings
from router.contract import EncoderManifest, Manifest
from tests.support.bare_snapshots import write_bare_snapshot


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub, and an installed package."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(automatic, "packaged_folder", lambda: tmp_path)
    return tmp_path / "hub"


def fetch(hub: Path, name: str) -> None:
    """Put a model into the cache, as huggingface_hub lays it out."""
    model = hub / f"models--{name.replace('/', '--')}"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("0123", encoding="utf-8")
    (model / "snapshots" / "0123").mkdir(parents=True)
    (model / "snapshots" / "0123" / "config.json").write_text("{}", encoding="utf-8")


def manifest(tmp_path: Path, model: str | None, preferred: str | None, tuning: Any = None) -> Manifest:
    """The manifest of a snapshot of an encoder."""
    encoder = EncoderManifest(model, "r1", "mean", "", 4, 64, "int8") if model else None
    fields = {"encoder": encoder, "preferred_encoder": preferred, "tuning": tuning or {}}
    return Manifest.read(write_bare_snapshot(tmp_path / "snapshot", {}, **fields))


@pytest.mark.parametrize(
    ("variable", "inside"),
    [
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
        ("HUGGINGFACE_HUB_CACHE", "."),
        ("HOME", ".cache/huggingface/hub"),
    ],
)
def test_a_model_is_here_where_the_hubs_own_variables_and_library_say_so(
    hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, inside: str
) -> None:
    from huggingface_hub import try_to_load_from_cache

    fetch(hub, PREFERRED)
    for name in (PREFERRED, "acme/other"):
        known = try_to_load_from_cache(name, "config.json", cache_dir=hub)
        assert is_on_disk(name) is isinstance(known, str) is (name == PREFERRED)
    for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    fetch(tmp_path / inside, "acme/encoder")
    assert is_on_disk("acme/encoder") and not is_on_disk("acme/other")


def test_auto_takes_the_preferred_model_if_it_is_here_and_else_the_installed_one(
    hub: Path, monkeypatch: pytest.MonkeyPatch, encoder_folder: Path
) -> None:
    assert VectorSettings().preferred == PREFERRED
    assert automatic_choice(PREFERRED) == INSTALLED[-1]
    assert automatic_choice(str(encoder_folder)) == str(encoder_folder)
    fetch(hub, PREFERRED)
    assert automatic_choice(PREFERRED) == PREFERRED
    monkeypatch.setattr(automatic, "packaged_folder", lambda: None)
    assert automatic_choice("acme/encoder") is None


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 2000, "a\0b"])
def test_a_name_that_can_be_no_path_is_on_no_disk(tmp_path: Path, name: str) -> None:
    assert not is_on_disk(name)
    assert newer_choice(manifest(tmp_path, PACKAGED, name)) == automatic_choice(PREFERRED) == TOOLS_ENCODER


@pytest.mark.parametrize(
    ("fetched", "model", "preferred", "newer"),
    [
        (PREFERRED, PACKAGED, PREFERRED, PREFERRED),
        (PREFERRED, PACKAGED, None, PREFERRED),
        ("acme/encoder", INSTALLED[-1], PREFERRED, None),  # what auto takes today
        ("acme/encoder", PACKAGED, "", None),  # the settings name it
        ("acme/encoder", PREFERRED, PREFERRED, None),  # the hub may give it again
        ("acme/encoder", "ours", None, None),
        ("acme/encoder", None, None, None),
    ],
)
def test_a_snapshot_is_told_of_what_a_rebuild_would_take_in_its_encoders_place(
    hub: Path, tmp_path: Path, fetched: str, model: str | None, preferred: str | None, newer: str | None
) -> None:
    fetch(hub, fetched)
    assert newer_choice(manifest(tmp_path, model, preferred)) == newer
    tuned = manifest(tmp_path, model and f"{model}-tuned-k1", preferred, {"encoder": {"key": "k1", "skipped": ""}})
    assert untuned_name(tuned) == model and newer_choice(tuned) == newer  # a tuned encoder counts as its base


def test_nothing_heavy_is_imported_for_it() -> None:
    heavy = ("huggingface_hub", "onnx", "onnxruntime", "safetensors", "torch", "tokenizers", "pydantic")
    code = f"import sys, pipeline.encoders.automatic; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
