"""A build takes an encoder of the hub by its short name, and later builds keep it without the hub."""

from pathlib import Path

import numpy as np

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.inspection.served_tools import served_texts
from pipeline.settings import load
from router.contract import ENCODER_FOLDER, Manifest
from router.encoding.encoder import OnnxEncoder
from router.retrieval.retrievers.vectors import ToolVectors
from tests.support.hub import connected
from tests.support.notes import Notes
from tests.support.rows import write_rows
from tests.support.small_encoder import save

TOOLS = [
    {"id": "leave", "name": "leave", "description": "Beantragt Urlaub und zeigt, wie viele Tage noch übrig sind."},
    {"id": "rooms", "name": "rooms", "description": "Lists the meeting rooms that are free at a time."},
]


def built(place: Path, notes: Notes, **vectors: str) -> BuildReport:
    settings = load(place / "shop", {"vectors": {"precision": "fp32", **vectors}}, environment={})
    return build(settings, workspace=place / "ws", progress=notes)


def test_a_named_encoder_is_downloaded_and_kept_by_auto_and_its_prefixes_are_those_of_e5(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    write_rows(tmp_path / "shop" / "tools.jsonl", TOOLS)
    with connected(tmp_path / "hub") as hub:
        hub.publish("intfloat/multilingual-e5-small", save(tmp_path / "model", pooling="mean"), "1" * 40)
        hub.publish("BAAI/bge-small-en-v1.5", save(tmp_path / "bge"), "2" * 40)
        first, second, later = Notes(), Notes(), Notes()
        built(tmp_path, first, encoder="bge")
        assert any(
            "1 of 2 tools are not English, for which BAAI/bge-small-en-v1.5 is made" in said for said in first.said
        )
        report = built(tmp_path, second, encoder="multilingual")
        assert any(said.startswith("downloading intfloat/multilingual-e5-small") for said in second.said)
        hub.asked.clear()
        assert built(tmp_path, later).outcome == "unchanged"
        assert hub.asked == [] and later.said == []
    spec = Manifest.read(report.snapshot).encoder
    assert spec is not None and (spec.query_prefix, spec.document_prefix) == ("query: ", "passage: ")
    texts = [texts.texts[-1] for texts in served_texts(report.snapshot).values()]
    vectors, encoder = ToolVectors.open(report.snapshot), OnnxEncoder.open(report.snapshot / ENCODER_FOLDER, spec)
    stored = np.stack([vectors.of_tools(tool, tool + 1)[0] for tool in range(len(texts))])
    of_documents, of_requests, bare = (
        (stored * encode(texts)).sum(axis=1)
        for encode in (encoder.encode, encoder.encode_requests, encoder.encode_as_is)
    )
    assert of_documents.min() > 0.999 and (of_documents > np.maximum(of_requests, bare)).all()
    assert np.allclose(encoder.encode_requests(["a"]), encoder.encode_as_is(["query: a"]))
