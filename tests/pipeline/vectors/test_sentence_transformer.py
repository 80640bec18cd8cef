"""A base with its delta, as sentence-transformers runs it: what an export of the delta has to give."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.encoders.delta import DELTA_FILE, read_delta, write_checksums, write_delta
from pipeline.encoders.export import EncoderModel, ExportCache
from pipeline.encoders.export.agreement_texts import AGREEMENT_TEXTS
from pipeline.errors import RunAborted
from pipeline.progress import SilentProgress
from pipeline.settings import VectorSettings
from pipeline.vectors import ReferenceEncoder, export_encoder, resolve_encoder
from pipeline.vectors.model import load_sentence_transformer
from router.encoding.encoder import OnnxEncoder
from tests.pipeline.encoders.export.models import strong
from tests.support.small_delta import save_small_delta


def resolved(folder: Path) -> EncoderModel:
    model = resolve_encoder(VectorSettings(encoder=str(folder)), SilentProgress())
    assert model is not None
    return model


@pytest.mark.nightly  # imports torch
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_an_export_of_a_delta_gives_the_vectors_of_sentence_transformers(tmp_path: Path, pooling: str) -> None:
    base = strong(tmp_path / "base", pooling=pooling)
    model = resolved(save_small_delta(tmp_path / "ours", base.folder))
    reference = ReferenceEncoder(model, 8)
    made = export_encoder(model, "fp32", reference, ExportCache([tmp_path / "cache"]))
    expected = reference.encode(AGREEMENT_TEXTS)
    vectors = OnnxEncoder.open(made.folder, made.spec).encode(AGREEMENT_TEXTS)
    assert np.sum(vectors * expected, axis=1).min() >= 0.9999
    plain = ReferenceEncoder(base, 8).encode(AGREEMENT_TEXTS)
    assert np.sum(plain * expected, axis=1).max() < 0.99


@pytest.mark.nightly
def test_a_delta_that_does_not_fit_stops_with_its_map(tmp_path: Path) -> None:
    base = strong(tmp_path / "base")
    folder = save_small_delta(tmp_path / "ours", base.folder)
    delta = read_delta(folder / DELTA_FILE)
    write_delta(folder, delta.header, {"encoder.other": next(iter(delta.factors.values()))})
    write_checksums(folder)
    with pytest.raises(RunAborted, match=r"ours cannot be loaded: .*'encoder\.other'"):
        load_sentence_transformer(resolved(folder))


def test_a_base_that_neither_disk_nor_hub_has_stops_with_its_name(tmp_path: Path) -> None:
    base = strong(tmp_path / "base")
    with pytest.raises(RunAborted, match="'acme/base' is no folder here, and the hub does not give it"):
        resolved(save_small_delta(tmp_path / "ours", base.folder, name="acme/base"))
