"""Models of the hub are downloaded once, checked, and stay what they are."""

import errno
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import constants, file_download, snapshot_download

from pipeline.encoders.export import describe_model
from pipeline.errors import RunAborted
from pipeline.progress import SilentProgress
from pipeline.settings import VectorSettings
from pipeline.vectors import download
from pipeline.vectors.download import find_on_hub
from pipeline.vectors.model import resolve_encoder
from tests.support.hub import Hub, connected
from tests.support.notes import Notes
from tests.support.small_encoder import save

MODEL, FIRST, SECOND = "acme/small", "1" * 40, "2" * 40


class Heard(Notes):
    """What a download says."""

    def __init__(self) -> None:
        super().__init__()
        self.stages: list[tuple[str, int | None]] = []
        self.done = 0

    def start(self, stage: str, total: int | None = None) -> None:
        self.stages.append((stage, total))

    def advance(self, count: int = 1) -> None:
        self.done += count


@pytest.fixture
def hub(tmp_path: Path, encoder_folder: Path) -> Iterator[Hub]:
    """A hub with one model, and an empty cache."""
    with connected(tmp_path / "hub") as hub:
        hub.publish(MODEL, encoder_folder, FIRST)
        yield hub


def test_a_model_is_downloaded_once_with_progress_and_without_what_no_build_reads(
    hub: Hub, tmp_path: Path, encoder_folder: Path
) -> None:
    big = save(tmp_path / "big", hidden=256)
    (big / "onnx").mkdir()
    for unused in ("pytorch_model.bin", "onnx/config.json"):
        (big / unused).write_bytes(b"{}")
    hub.publish(MODEL, big, FIRST)
    heard = Heard()
    folder = find_on_hub(MODEL, heard)
    assert (folder / "model.safetensors").read_bytes() == (big / "model.safetensors").read_bytes()
    assert (folder / "1_Pooling" / "config.json").exists()
    assert not (folder / "pytorch_model.bin").exists() and not (folder / "onnx").exists()
    size = round(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6)
    assert heard.stages == [("download", size)] and heard.done in (size, size - 1) and size > 1
    assert len(heard.said) == 1 and heard.said[0].startswith(f"downloading {MODEL}, {size} MB")
    hub.asked.clear()
    assert find_on_hub(MODEL, heard) == folder
    assert hub.asked == [f"api/models/{MODEL}"] and len(heard.said) == 1  # whether it has changed


def test_a_download_that_is_cut_goes_on_where_it_was(hub: Hub) -> None:
    hub.cuts = ["model.safetensors"]
    folder = find_on_hub(MODEL, SilentProgress())
    assert any(re.search(r"model\.safetensors from \d+", one) for one in hub.asked)
    assert (folder / "model.safetensors").stat().st_size > 0


def test_a_download_that_ends_half_way_is_not_taken_for_a_model_and_the_next_fetches_what_is_missing(hub: Hub) -> None:
    hub.cuts = ["model.safetensors"] * 100
    with pytest.raises(
        RunAborted, match=r"'acme/small' is not a folder here, and the hub does not provide it \(peer closed"
    ):
        find_on_hub(MODEL, SilentProgress())
    with pytest.raises(RunAborted, match=r'which is not in .* and "auto" takes no other'):
        find_on_hub(MODEL, SilentProgress(), may_ask=False)
    hub.cuts = []
    hub.asked.clear()
    folder = find_on_hub(MODEL, SilentProgress())
    assert (folder / "model.safetensors").exists()
    assert [one for one in hub.asked if "resolve" in one and "config.json" in one] == []


def test_what_another_program_fetched_of_a_model_is_not_taken_for_all_of_it(hub: Hub) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        file_download.hf_hub_download(MODEL, name)
    folder = find_on_hub(MODEL, SilentProgress())
    assert describe_model(MODEL, folder).pooling == "cls"  # by 1_Pooling/config.json; without it "mean"


def test_weights_with_another_checksum_are_refused_and_removed(hub: Hub) -> None:
    hub.damaged = "model.safetensors"
    for _ in range(2):  # the second finds no whole model in the cache
        with pytest.raises(RunAborted, match=r"model\.safetensors of acme/small is damaged"):
            find_on_hub(MODEL, SilentProgress())
    hub.damaged = ""
    folder = find_on_hub(MODEL, SilentProgress())
    (folder / "model.safetensors").resolve().write_bytes(b"rotten")
    with pytest.raises(RunAborted, match="is damaged"):
        find_on_hub(MODEL, SilentProgress(), may_ask=False)


def test_a_disk_without_room_is_told_before_and_during_the_download(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(download, "disk_usage", lambda _: SimpleNamespace(free=1_000))
        with pytest.raises(RunAborted, match=r"acme/small takes \d+ MB, and the disk of .* has 0 MB free: make room"):
            find_on_hub(MODEL, SilentProgress())
    assert not [one for one in hub.asked if "resolve" in one]

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file_download, "http_get", full)
    with pytest.raises(RunAborted, match=r"acme/small does not fit on the disk of .*No space left"):
        find_on_hub(MODEL, SilentProgress())


def test_a_night_without_the_hub_takes_the_cache_and_says_so(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = find_on_hub(MODEL, SilentProgress())
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    heard = Heard()
    assert find_on_hub(MODEL, heard) == folder
    assert len(heard.said) == 1 and "from the cache: the hub does not say" in heard.said[0]
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert find_on_hub(MODEL, heard) == folder and len(heard.said) == 1
    with pytest.raises(RunAborted, match="'acme/other' is not a folder here"):
        find_on_hub("acme/other", heard)


def test_another_revision_is_noticed_and_taken_only_by_name(hub: Hub, tmp_path: Path) -> None:
    first = find_on_hub(MODEL, SilentProgress())
    hub.publish(MODEL, save(tmp_path / "second", seed=2), SECOND)
    heard = Heard()
    assert find_on_hub(MODEL, heard) == first
    assert len(heard.said) == 1 and f'encoder = "{MODEL}@{SECOND}" takes the other' in heard.said[0]
    second = find_on_hub(f"{MODEL}@{SECOND}", heard)
    assert second.name == SECOND and first.name == FIRST
    hub.asked.clear()
    assert find_on_hub(f"{MODEL}@{SECOND}", heard) == second
    assert hub.asked == []  # a commit does not change
    with pytest.raises(RunAborted, match=r"'acme/small@v9' is not .* Revision Not Found"):
        find_on_hub(f"{MODEL}@v9", heard)


def test_auto_keeps_the_commit_that_serves_though_another_program_moved_the_branch(hub: Hub, tmp_path: Path) -> None:
    heard = Heard()
    first = resolve_encoder(VectorSettings(encoder=MODEL), heard)
    hub.publish(MODEL, save(tmp_path / "second", seed=2), SECOND)
    assert first is not None and snapshot_download(MODEL).endswith(SECOND)
    second = resolve_encoder(VectorSettings(encoder=MODEL), heard)
    assert second is not None and second.folder.name == SECOND
    assert resolve_encoder(VectorSettings(), heard, first.spec("fp32")) == first
    assert resolve_encoder(VectorSettings(), heard, second.spec("fp32")) == second
    heard.said.clear()
    shutil.rmtree(first.folder)
    assert resolve_encoder(VectorSettings(), heard, first.spec("fp32")) == second
    assert heard.said == [
        "the files of acme/small are others than those of the snapshot that serves: all is embedded anew"
    ]


def test_a_damaged_file_that_may_not_be_removed_is_named_with_the_way_out(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = find_on_hub(MODEL, SilentProgress()) / "model.safetensors"
    blob = weights.resolve()
    blob.write_bytes(b"rotten")

    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(RunAborted, match=rf"is damaged: .*Remove {blob}, or set HF_HOME .*\(Permission denied\)"):
        find_on_hub(MODEL, SilentProgress())
    assert weights.exists()
