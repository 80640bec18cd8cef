"""A model → its ONNX exports: fp32, checked against the model's own vectors, and int8, checked against fp32."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from router.contract import ENCODER_MODEL, ENCODER_TOKENIZER
from router.distribution import install_command
from router.encoding.encoder import OnnxEncoder
from router.encoding.export.agreement_texts import AGREEMENT_TEXTS
from router.encoding.export.bert import unsupported_reason, write_bert
from router.encoding.export.bert_numpy import NumpyBert
from router.encoding.export.cache import EXPORT_FILES, Export, ExportCache
from router.encoding.export.model import EncoderModel
from router.encoding.export.quantization import quantize
from router.errors import EncoderInvalid, SnapshotInvalid

# fp32 is the same arithmetic in another order; int8 rounds: mean .997, least .986 over MiniLM's texts.
_LEAST_FP32 = 0.9999
_MEAN_INT8 = 0.99

TORCH_HINT = f"{install_command('models')} brings it"
# Numpy takes three times as long as ONNX Runtime; the longest text is among them.
_BY_ARITHMETIC = AGREEMENT_TEXTS[::-3]
_TOGETHER = 4

Matrix = NDArray[np.float32]


class Tracer(Protocol):
    """Exports a model of any architecture, with its framework."""

    def export(self, path: Path) -> None:
        """Write the model as ONNX."""
        ...

    def save_tokenizer(self, path: Path) -> None:
        """Write `tokenizer.json`."""
        ...

    def encode(self, texts: Sequence[str]) -> Matrix:
        """The vectors that the model's authors mean, float32 (len(texts), dim), L2-normalised."""
        ...


class ExportDisagreement(EncoderInvalid):
    """An export's vectors are not those of the model."""


def export(model: EncoderModel, precision: str, cache: ExportCache, tracer: Tracer | None = None) -> Export:
    """Return the model's export from the cache, made where it is not there.

    `precision` "auto" is int8 where that agrees with fp32, else fp32. A plain BERT is written node by node; any other
    model by the `tracer`. Raises EncoderInvalid where there is none, or the export does not agree.
    """
    if precision != "auto":
        return cache.get(model.spec(precision), partial(_make, model, precision, cache, tracer))
    if cache.refusal(model.spec("int8")) is None:
        try:
            return export(model, "int8", cache, tracer)
        except ExportDisagreement as error:
            cache.refuse(model.spec("int8"), str(error))  # not to be tried each night
    return export(model, "fp32", cache, tracer)


def _make(
    model: EncoderModel, precision: str, cache: ExportCache, tracer: Tracer | None, folder: Path
) -> dict[str, float]:
    """Write an export's files; return how far it agrees."""
    if precision == "fp32":
        return _full(model, tracer, folder)
    if (held := cache.find(model.spec("fp32"))) is not None:
        for name in EXPORT_FILES:
            shutil.copyfile(held.folder / name, folder / name)
    else:
        _full(model, tracer, folder)
    full = _opened(folder, model, "fp32")
    expected = _encoded(full, AGREEMENT_TEXTS)
    quantize(folder / ENCODER_MODEL, [full.feeds([text]) for text in AGREEMENT_TEXTS])
    return _agreement(_encoded(_opened(folder, model, precision), AGREEMENT_TEXTS), expected, model, precision)


def _full(model: EncoderModel, tracer: Tracer | None, folder: Path) -> dict[str, float]:
    reason = unsupported_reason(model)
    texts: Sequence[str] = AGREEMENT_TEXTS
    if reason is None:
        write_bert(model, folder / ENCODER_MODEL)
        shutil.copyfile(model.folder / ENCODER_TOKENIZER, folder / ENCODER_TOKENIZER)
        made, texts, arithmetic = _opened(folder, model, "fp32"), _BY_ARITHMETIC, NumpyBert(model)
        expected = np.stack([arithmetic.vector(made.feeds([text])["input_ids"][0].tolist()) for text in texts])
    elif tracer is not None:
        tracer.export(folder / ENCODER_MODEL)
        tracer.save_tokenizer(folder / ENCODER_TOKENIZER)
        made = _opened(folder, model, "fp32")
        expected = tracer.encode(texts)
    else:
        raise EncoderInvalid(f"the encoder {model.name} cannot be exported without torch: {reason}. {TORCH_HINT}")
    return _agreement(_encoded(made, texts), expected, model, "fp32")


def _encoded(encoder: OnnxEncoder, texts: Sequence[str]) -> Matrix:
    """Vectors of texts, a few of like length at once: so padding is tried too, and costs little."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    runs = [order[first : first + _TOGETHER] for first in range(0, len(order), _TOGETHER)]
    made = np.concatenate([encoder.encode([texts[place] for place in run]) for run in runs])
    return made[np.argsort(order)]


def _opened(folder: Path, model: EncoderModel, precision: str) -> OnnxEncoder:
    try:
        return OnnxEncoder.open(folder, model.spec(precision))
    except SnapshotInvalid as error:
        raise EncoderInvalid(f"the {precision} export of {model.name} does not load: {error}") from error


def _agreement(made: Matrix, expected: Matrix, model: EncoderModel, precision: str) -> dict[str, float]:
    cosines = np.sum(made * expected, axis=1)
    found = {"texts": float(len(cosines)), "least": float(cosines.min()), "mean": float(cosines.mean())}
    name, bound = ("least", _LEAST_FP32) if precision == "fp32" else ("mean", _MEAN_INT8)
    if not found[name] >= bound:  # not-a-number is no agreement either
        raise ExportDisagreement(
            f"the {precision} export of {model.name} does not agree with the model: {name} cosine {found[name]:.5f} "
            f"over {len(cosines)} texts, it must be {bound}"
            + (". Set vectors.precision to fp32" if precision == "int8" else "")
        )
    return found
