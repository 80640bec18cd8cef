"""Texts → vectors. `model` chooses the encoder, `exports` makes its ONNX copies, checked against the model itself.

`download` finds models of the hub, `embedding` runs an export over many texts, with the ledger's memory of known texts,
`cost` measures an encoder.
"""

from pipeline.encoders.export import EncoderModel
from pipeline.vectors.embedding import BatchEncoder, CatalogVectors, Embedding, collect_vectors
from pipeline.vectors.exports import ReferenceEncoder, export_encoder, user_cache
from pipeline.vectors.model import resolve_encoder

__all__ = [
    "BatchEncoder",
    "CatalogVectors",
    "Embedding",
    "EncoderModel",
    "ReferenceEncoder",
    "collect_vectors",
    "export_encoder",
    "resolve_encoder",
    "user_cache",
]
