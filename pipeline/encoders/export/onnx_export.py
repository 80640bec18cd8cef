"""Exports a model to ONNX: fp32, checked against the model's own vectors, and int8, checked against fp32."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.encoders.export.agreement_texts import AGREEMENT_TEXTS
from pipeline.encoders.export.bert import unsupported_reason, write_bert
from pipeline.encoders.export.bert_numpy import NumpyBert
from pipeline.encoders.export.cache import EXPORT_FILES, Export, ExportCache
from pipeline.encoders.export.model import EncoderModel
from pipeline.encoders.export.quantization import quantize
from router.contract import ENCODER_MODEL, ENCODER_TOKENIZER
from router.distribution import install_command
from router.encoding.encoder import OnnxEncoder
from router.errors import EncoderInvalid, SnapshotInvalid

# Cosines. fp32 differs only in the order of operations; int8 rounds. See docs/decisions/vectors.md.
_LEAST_FP32 = 0.9999
_MEAN_INT8 = 0.99

TORCH_HINT = f"{install_command('models')} brings it"
# A third of the texts, the longest among them: numpy takes three times as long as ONNX Runtime.
_NUMPY_TEXTS = AGREEMENT_TEXTS[::-3]
_BATCH_SIZE = 4

Matrix = NDArray[np.float32]


class Tracer(Protocol):
    """Exports a model of any architecture by tracing it in its framework."""

    def export(self, path: Path) -> None:
        """Write the model as ONNX."""
        ...

    def save_tokenizer(self, path: Path) -> None:
        """Write `tokenizer.json`."""
        ...

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return the model's own L2-normalised vectors of texts, float32 of shape (len(texts), dim)."""
        ...


class ExportDisagreement(EncoderInvalid):
    """An export's vectors differ too much from those of the model."""


def export(model: EncoderModel, precision: str, cache: ExportCache, tracer: Tracer | None = None) -> Export:
    """Return the model's export from the cache, made where it is missing.

    `precision` is "fp32", "int8" or "auto": int8 where it agrees with fp32, else fp32. A plain BERT is written node by
    node, any other model by the `tracer`. Raises EncoderInvalid where a tracer is needed and None, and
    ExportDisagreement where the export does not agree.
    """
    if precision != "auto":
        return cache.get(model.spec(precision), partial(_make, model, precision, cache, tracer))
    if cache.refusal(model.spec("int8")) is None:
        try:
            return export(model, "int8", cache, tracer)
        except ExportDisagreement as error:
            cache.refuse(model.spec("int8"), str(error))  # so that it is not tried again by every build
    return export(model, "fp32", cache, tracer)


def _make(
    model: EncoderModel, precision: str, cache: ExportCache, tracer: Tracer | None, folder: Path
) -> dict[str, float]:
    """Write an export's files into a folder; return its agreement."""
    if precision == "fp32":
        return _make_fp32(model, tracer, folder)
    if (fp32_export := cache.find(model.spec("fp32"))) is not None:
        for name in EXPORT_FILES:
            shutil.copyfile(fp32_export.folder / name, folder / name)
    else:
        _make_fp32(model, tracer, folder)
    fp32_encoder = _open(folder, model, "fp32")
    expected = _encode(fp32_encoder, AGREEMENT_TEXTS)
    quantize(folder / ENCODER_MODEL, [fp32_encoder.feeds([text]) for text in AGREEMENT_TEXTS])
    return _agreement(_encode(_open(folder, model, precision), AGREEMENT_TEXTS), expected, model, precision)


def _make_fp32(model: EncoderModel, tracer: Tracer | None, folder: Path) -> dict[str, float]:
    """Write an fp32 export; return its agreement with the reference: numpy for a plain BERT, else the tracer."""
    reason = unsupported_reason(model)
    texts: Sequence[str] = AGREEMENT_TEXTS
    if reason is None:
        write_bert(model, folder / ENCODER_MODEL)
        shutil.copyfile(model.folder / ENCODER_TOKENIZER, folder / ENCODER_TOKENIZER)
        encoder, texts, reference = _open(folder, model, "fp32"), _NUMPY_TEXTS, NumpyBert(model)
        expected = np.stack([reference.vector(encoder.feeds([text])["input_ids"][0].tolist()) for text in texts])
    elif tracer is not None:
        tracer.export(folder / ENCODER_MODEL)
        tracer.save_tokenizer(folder / ENCODER_TOKENIZER)
        encoder = _open(folder, model, "fp32")
        expected = tracer.encode(texts)
    else:
        raise EncoderInvalid(f"the encoder {model.name} cannot be exported without torch: {reason}. {TORCH_HINT}")
    return _agreement(_encode(encoder, texts), expected, model, "fp32")


def _encode(encoder: OnnxEncoder, texts: Sequence[str]) -> Matrix:
    """Return the vectors of texts, encoded in batches of similar length: this covers padding, at little cost."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    batches = [order[first : first + _BATCH_SIZE] for first in range(0, len(order), _BATCH_SIZE)]
    vectors = np.concatenate([encoder.encode_as_is([texts[place] for place in batch]) for batch in batches])
    return vectors[np.argsort(order)]


def _open(folder: Path, model: EncoderModel, precision: str) -> OnnxEncoder:
    try:
        return OnnxEncoder.open(folder, model.spec(precision))
    except SnapshotInvalid as error:
        raise EncoderInvalid(f"the {precision} export of {model.name} does not load: {error}") from error


def _agreement(vectors: Matrix, expected: Matrix, model: EncoderModel, precision: str) -> dict[str, float]:
    """Return the number of texts, and the least and mean cosine to the expected vectors.

    Raises ExportDisagreement where the cosine that counts for the precision is too low.
    """
    cosines = np.sum(vectors * expected, axis=1)
    agreement = {"texts": float(len(cosines)), "least": float(cosines.min()), "mean": float(cosines.mean())}
    name, bound = ("least", _LEAST_FP32) if precision == "fp32" else ("mean", _MEAN_INT8)
    if not agreement[name] >= bound:  # true for NaN too
        raise ExportDisagreement(
            f"the {precision} export of {model.name} does not agree with the model: {name} cosine "
            f"{agreement[name]:.5f} over {len(cosines)} texts, it must be {bound}"
            + (". Set vectors.precision to fp32" if precision == "int8" else "")
        )
    return agreement
