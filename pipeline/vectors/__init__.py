"""Texts → vectors. `model` chooses the encoder, `exports` makes its ONNX copies, checked against `reference`.

`encoding` runs an export over many texts, `embedding` adds the ledger's memory of known texts, `catalog_vectors` puts
a catalog's vectors in order.
"""

from pipeline.encoders.export import EncoderModel
from pipeline.vectors.catalog_vectors import CatalogVectors, collect_vectors
from pipeline.vectors.embedding import Embedding
from pipeline.vectors.encoding import BatchEncoder
from pipeline.vectors.exports import EncoderExports, export_encoder, user_cache
from pipeline.vectors.model import resolve_encoder
from pipeline.vectors.reference import ReferenceEncoder

__all__ = [
    "BatchEncoder",
    "CatalogVectors",
    "Embedding",
    "EncoderExports",
    "EncoderModel",
    "ReferenceEncoder",
    "collect_vectors",
    "export_encoder",
    "resolve_encoder",
    "user_cache",
]
