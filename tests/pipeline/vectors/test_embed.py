"""Vectors of a catalog: complete, in order, never made twice."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.encoders.export import ExportCache, cache_folder
from pipeline.execution import DirectExecution
from pipeline.ledger import Ledger
from pipeline.progress import SilentProgress
from pipeline.scratch import ScratchFolder
from pipeline.settings import VectorSettings
from pipeline.vectors import (
    BatchEncoder,
    CatalogVectors,
    Embedding,
    ReferenceEncoder,
    collect_vectors,
    export_encoder,
    resolve_encoder,
)
from router.tools.field_text import FieldDocuments


def document(name: str, *phrases: str) -> FieldDocuments:
    return FieldDocuments(name, name, "", "", f"about {name}", phrases)


def embedded(documents: list[FieldDocuments], encoder: Path, workspace: Path) -> tuple[CatalogVectors, int]:
    """The vectors of documents, and how many texts had to be embedded for them."""
    model = resolve_encoder(VectorSettings(encoder=str(encoder)), SilentProgress())
    assert model is not None
    with Ledger.open(workspace) as ledger, ScratchFolder.open(workspace) as scratch:
        exported = export_encoder(model, "fp32", ReferenceEncoder(model, 8), ExportCache([cache_folder()]))
        embedding = Embedding(model, exported, 16, ledger, DirectExecution(), SilentProgress(), scratch)
        return collect_vectors(documents, embedding, exported), embedding.embedded


def test_every_row_is_the_vector_of_its_text_and_only_a_new_text_is_embedded(
    tmp_path: Path, encoder_folder: Path
) -> None:
    documents = [document("a", "one", "two"), document("b"), document("c", "two", "three")]
    vectors, made = embedded(documents, encoder_folder, tmp_path)
    one_by_one = BatchEncoder(vectors.export, 1)
    assert vectors.documents == pytest.approx(one_by_one.encode(["about a", "about b", "about c"]), abs=1e-5)
    assert vectors.phrases == pytest.approx(one_by_one.encode(["one", "two", "two", "three"]), abs=1e-5)
    assert vectors.offsets.tolist() == [0, 2, 2, 4]
    assert made == 6  # three documents and three distinct phrases
    again, made = embedded(documents, encoder_folder, tmp_path)
    assert made == 0
    assert np.array_equal(vectors.documents, again.documents) and np.array_equal(vectors.phrases, again.phrases)
    assert embedded([*documents[:2], document("c", "two", "four")], encoder_folder, tmp_path)[1] == 1
    without, _ = embedded([document("a"), document("b")], encoder_folder, tmp_path)
    assert (without.phrases.shape, without.offsets.tolist()) == ((0, 32), [0, 0, 0])
