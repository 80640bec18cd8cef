"""Many texts to vectors: batches of like length, rows in the order of the texts, none embedded twice."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.encoders.export import EncoderModel, Export, ExportCache, cache_folder
from pipeline.errors import RunAborted
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
from pipeline.vectors.embedding import batches
from router.tools.field_text import FieldDocuments


@pytest.fixture(scope="module")
def model(encoder_folder: Path) -> EncoderModel:
    model = resolve_encoder(VectorSettings(encoder=str(encoder_folder)), SilentProgress())
    assert model is not None
    return model


@pytest.fixture(scope="module")
def exported(workspace: Path, model: EncoderModel) -> Export:
    """The export that the run's workspace holds."""
    return export_encoder(model, "fp32", ReferenceEncoder(model, 8), ExportCache([cache_folder()]))


def test_batches_are_filled_longest_first() -> None:
    lengths = np.array([3, 10, 4, 10, 1, 90])
    assert [rows.tolist() for rows in batches(lengths, 3, 20)] == [[5], [1, 3], [2, 0, 4]]


@given(st.lists(st.integers(0, 300)), st.integers(1, 20), st.integers(1, 600))
def test_each_text_is_in_one_batch_and_no_batch_is_too_large(lengths: list[int], most: int, tokens: int) -> None:
    found = list(batches(np.array(lengths, np.int64), most, tokens))
    assert sorted(place for rows in found for place in rows.tolist()) == list(range(len(lengths)))
    for rows in found:
        assert len(rows) == 1 or len(rows) * max(lengths[row] for row in rows) <= tokens
        assert len(rows) <= most


@pytest.mark.parametrize("threads", [1, 2])
def test_each_row_is_its_texts_vector_whatever_it_was_batched_with(exported: Export, threads: int) -> None:
    texts = [" ".join(["refund"] * (1 + 7 * i % 40)) + str(i) for i in range(60)]
    heard: list[int] = []
    together = BatchEncoder(exported, 4, threads).encode(texts, heard.append)
    alone = np.concatenate([BatchEncoder(exported).encode([text]) for text in texts[:5]])
    assert together.dtype == np.float32 and sum(heard) == 60
    assert together[:5] == pytest.approx(alone, abs=1e-5)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-5)
    assert BatchEncoder(exported).encode([]).shape == (0, 32)


def test_an_export_that_does_not_load_stops_the_build(exported: Export, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes((exported.folder / "tokenizer.json").read_bytes())
    (tmp_path / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(RunAborted, match="cannot be loaded"):
        BatchEncoder(Export(tmp_path, exported.spec, {})).encode(["refund"])


def test_every_row_is_the_vector_of_its_text_and_only_a_new_text_is_embedded(
    tmp_path: Path, model: EncoderModel, exported: Export
) -> None:
    def document(name: str, *phrases: str) -> FieldDocuments:
        return FieldDocuments(name, name, "", "", f"about {name}", phrases)

    def embedded(*documents: FieldDocuments) -> tuple[CatalogVectors, int]:
        """The vectors of documents, and how many texts had to be embedded for them."""
        with Ledger.open(tmp_path) as ledger, ScratchFolder.open(tmp_path) as scratch:
            embedding = Embedding(exported, 16, ledger, DirectExecution(), SilentProgress(), scratch)
            return collect_vectors(documents, embedding), embedding.embedded

    documents = [document("a", "one", "two"), document("b"), document("c", "two", "three")]
    vectors, made = embedded(*documents)
    one_by_one = BatchEncoder(exported, 1)
    assert vectors.documents == pytest.approx(one_by_one.encode(["about a", "about b", "about c"]), abs=1e-5)
    assert vectors.phrases == pytest.approx(one_by_one.encode(["one", "two", "two", "three"]), abs=1e-5)
    assert vectors.offsets.tolist() == [0, 2, 2, 4]
    assert made == 6  # three documents and three distinct phrases
    again, made = embedded(*documents)
    assert made == 0
    assert np.array_equal(vectors.documents, again.documents) and np.array_equal(vectors.phrases, again.phrases)
    assert embedded(*documents[:2], document("c", "two", "four"))[1] == 1
    without, _ = embedded(document("a"), document("b"))
    assert (without.phrases.shape, without.offsets.tolist()) == ((0, 32), [0, 0, 0])


def test_a_ledger_gives_no_vector_of_another_precision(tmp_path: Path, model: EncoderModel, exported: Export) -> None:
    reference, texts = ReferenceEncoder(model, 8), ["refund a charge", "list the invoices of a customer"]
    exports = exported, export_encoder(model, "int8", reference, ExportCache([cache_folder()]))
    with Ledger.open(tmp_path) as ledger, ScratchFolder.open(tmp_path) as scratch:
        for export in exports:
            embedding = Embedding(export, 16, ledger, DirectExecution(), SilentProgress(), scratch)
            embedding.embed(texts)
            assert embedding.embedded == len(texts)
            assert np.array_equal(embedding.matrix(texts), BatchEncoder(export, 16).encode(texts))
