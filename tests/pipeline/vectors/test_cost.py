"""What an encoder costs is measured on its own files, by the texts of the catalog."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.encoders.export import describe_model
from pipeline.progress import SilentProgress
from pipeline.vectors import BatchEncoder, EncoderModel, ReferenceEncoder, export_encoder, user_cache
from pipeline.vectors.cost import EncoderCost, measure_costs
from router.contract import Manifest


def test_an_encoder_costs_time_a_request_time_for_all_documents_and_bytes_beside_one_without_vectors(
    encoder_folder: Path, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: EncoderModel = describe_model(str(encoder_folder), encoder_folder)
    export = export_encoder(model, "fp32", ReferenceEncoder(model, 16), user_cache(model, tmp_path, SilentProgress()))
    bare = tmp_path / "bare"
    bare.mkdir()
    replace(Manifest.read(snapshot), encoder=None).write(bare)
    ticks = iter(np.arange(0, 1_000, 0.5))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))  # each measurement takes half a second
    monkeypatch.setattr(BatchEncoder, "encode", lambda *_: None)
    documents = [f"tool number {number} refunds a charge" for number in range(1_024)]
    requests = ["undo a payment", " ", "file a ticket"]
    nothing, cost = measure_costs([bare, snapshot], [None, export], requests, [["a"], documents], 16)
    assert nothing == EncoderCost() and nothing.to_json()["request_ms"] is None
    assert cost.request_ms == 500
    assert (cost.documents, cost.documents_timed, cost.documents_s) == (1_024, 256, 4 * 0.5)
    assert cost.bytes == sum(file.stat().st_size for file in (snapshot / "encoder").iterdir())
    assert json.dumps(cost.to_json())
