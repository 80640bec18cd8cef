"""A build takes an encoder of the hub by its short name, and later builds keep it without the hub."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.build import build
from pipeline.build.reading import multilingual_advice
from pipeline.build.report import BuildReport
from pipeline.encoders.export import TOOLS_ENCODER, describe_model, tools_folder
from pipeline.inspection.served_tools import served_texts
from pipeline.records import catalog_records
from pipeline.settings import load
from quartermaster.evaluation import Judgement
from router.contract import ENCODER_FOLDER, Manifest
from router.encoding.encoder import OnnxEncoder
from router.retrieval.retrievers.vectors import ToolVectors
from tests.support.factories import make_raw
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
        first, later = Notes(), Notes()
        report = built(tmp_path, first, encoder="multilingual")
        assert any(said.startswith("downloading intfloat/multilingual-e5-small") for said in first.said)
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


@pytest.mark.parametrize(
    ("german", "requests", "advice"),
    [
        (1, ("free rooms",), "1 of 10 tools are not English, for which minilm-tools-v1 is made"),
        (0, ("free rooms",), ""),
        (0, ("free rooms", "空いている会議室"), "1 of 2 judged requests are not English"),
        (0, (), ""),
    ],
)
def test_multilingual_is_suggested_from_a_tenth_on(german: int, requests: tuple[str, ...], advice: str) -> None:
    texts = [TOOLS[0]["description"]] * german + [TOOLS[1]["description"]] * (10 - german)
    catalog = catalog_records(make_raw(f"t{number}", description=text) for number, text in enumerate(texts))
    none = frozenset[str]()
    judged = [Judgement("q", request, none, none, "none") for request in requests]
    model = describe_model(TOOLS_ENCODER, tools_folder())
    said = multilingual_advice(model, catalog, judged) or ""
    assert said.startswith(advice) and bool(said) is bool(advice)
    assert multilingual_advice(replace(model, name="acme/encoder"), catalog, judged) is None
