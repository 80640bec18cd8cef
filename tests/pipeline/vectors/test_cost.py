"""What an encoder costs is measured on its own files, by the texts of the catalog."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.progress import SilentProgress
from pipeline.vectors import EncoderModel, export_encoder, user_cache
from pipeline.vectors.cost import EncoderCost, measure_costs
from pipeline.vectors.reference import ReferenceEncoder
from router.contract import Manifest
from router.encoding.export import Export, describe_model


@pytest.fixture
def export(encoder_folder: Path, tmp_path: Path) -> Export:
    model: EncoderModel = describe_model(str(encoder_folder), encoder_folder)
    return export_encoder(model, "fp32", ReferenceEncoder(model, 16), user_cache(model, tmp_path, SilentProgress()))


def test_an_encoder_costs_time_a_request_time_for_all_documents_and_bytes(export: Export, snapshot: Path) -> None:
    documents = [f"tool number {number} refunds a charge" for number in range(1_000)]
    (cost,) = measure_costs([snapshot], [export], ["undo a payment", " ", "file a ticket"], [documents], 16)
    assert cost.request_ms is not None and 0 < cost.request_ms < 1_000
    assert cost.documents_s is not None and cost.documents_s > 0
    assert (cost.documents, cost.documents_timed) == (1_000, 256)
    assert cost.bytes == sum(file.stat().st_size for file in (snapshot / "encoder").iterdir())


def test_a_snapshot_without_vectors_costs_nothing_beside_one_that_has_them(
    export: Export, snapshot: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    replace(Manifest.read(snapshot), encoder=None).write(bare)
    first, second = measure_costs([bare, snapshot], [None, export], ["undo a payment"], [["a"], ["a"]], 16)
    assert first == EncoderCost() and first.to_json()["request_ms"] is None
    assert second.documents == 1 and second.request_ms is not None
    assert json.dumps(second.to_json())
