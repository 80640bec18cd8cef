"""The router's copy of the encoder: ONNX, made once a model and precision, checked against the build's encoder."""

import json
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.errors import RunAborted
from pipeline.vectors.agreement_texts import AGREEMENT_TEXTS
from pipeline.vectors.model import EncoderModel
from pipeline.vectors.quantization import quantize
from pipeline.vectors.reference import ReferenceEncoder
from router.contract import ENCODER_MODEL, ENCODER_TOKENIZER, EncoderManifest
from router.encoder import OnnxEncoder
from router.errors import SnapshotInvalid
from router.fingerprint import file_sha256

_RECORD = "export.json"
_FILES = (ENCODER_MODEL, ENCODER_TOKENIZER)
# fp32 is the same arithmetic in another order; int8 rounds: mean .997, least .986 over MiniLM's texts.
_LEAST_FP32 = 0.9999
_MEAN_INT8 = 0.99


@dataclass(frozen=True, slots=True)
class Export:
    """An exported encoder's folder, what the manifest says of it, and how far it agrees with the build's."""

    folder: Path
    spec: EncoderManifest
    agreement: dict[str, float]


class _Disagreement(RunAborted):
    """A copy's vectors are not those of the build's encoder."""


def export(model: EncoderModel, precision: str, reference: ReferenceEncoder, cache: Path) -> Export:
    """The ONNX copy from the workspace's cache, made if it is not there or its checksums fail.

    `precision` "auto" is int8 where that agrees with the build's encoder, else fp32. Raises RunAborted where the copy
    does not agree.
    """
    if precision != "auto":
        return _exported(model, precision, reference, cache)
    refused = cache / f"{model.key}-int8.refused"
    if not refused.exists():
        try:
            return _exported(model, "int8", reference, cache)
        except _Disagreement as error:
            refused.write_text(f"{error}\n", encoding="utf-8")  # not to be tried each night
    return _exported(model, "fp32", reference, cache)


def _exported(model: EncoderModel, precision: str, reference: ReferenceEncoder, cache: Path) -> Export:
    spec = EncoderManifest(
        model.name, model.revision, model.pooling, model.query_prefix, model.dim, model.max_length, precision
    )
    folder = cache / f"{model.key}-{precision}"
    agreement = _cached(folder)
    if agreement is not None:
        return Export(folder, spec, agreement)
    making = cache / f".making-{uuid.uuid4().hex[:8]}"
    making.mkdir(parents=True)
    try:
        full = cache / f"{model.key}-fp32"
        if precision != "fp32" and _cached(full) is not None:
            for name in _FILES:
                shutil.copyfile(full / name, making / name)
        else:
            reference.export(making / ENCODER_MODEL)
            _fuse(making / ENCODER_MODEL, model)
            reference.save_tokenizer(making / ENCODER_TOKENIZER)
        if precision == "int8":
            plain = OnnxEncoder.open(making, spec)
            quantize(making / ENCODER_MODEL, [plain.feeds([text]) for text in AGREEMENT_TEXTS])
        agreement = _agreement(making, spec, reference)
        record = {"agreement": agreement, "files": {name: file_sha256(making / name) for name in _FILES}}
        (making / _RECORD).write_text(json.dumps(record), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        making.rename(folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return Export(folder, spec, agreement)


def _cached(folder: Path) -> dict[str, float] | None:
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        whole = all(file_sha256(folder / name) == digest for name, digest in record["files"].items())
    except (OSError, ValueError, KeyError):
        return None
    return dict(record["agreement"]) if whole else None


def _agreement(folder: Path, spec: EncoderManifest, reference: ReferenceEncoder) -> dict[str, float]:
    try:
        copy = OnnxEncoder.open(folder, spec)
    except SnapshotInvalid as error:
        raise RunAborted(f"the ONNX copy of {spec.model} does not load: {error}") from error
    cosines = np.sum(copy.encode(AGREEMENT_TEXTS) * reference.encode(AGREEMENT_TEXTS), axis=1)
    found = {"texts": float(len(cosines)), "least": float(cosines.min()), "mean": float(cosines.mean())}
    value, bound, name = (
        (found["least"], _LEAST_FP32, "least") if spec.precision == "fp32" else (found["mean"], _MEAN_INT8, "mean")
    )
    if not value >= bound:
        raise _Disagreement(
            f"the {spec.precision} ONNX copy of {spec.model} does not agree with the build's encoder: {name} cosine "
            f"{value:.5f} over {len(cosines)} texts, it must be {bound}"
            + (". Set vectors.precision to fp32" if spec.precision == "int8" else "")
        )
    return found


def _fuse(path: Path, model: EncoderModel) -> None:
    """Put whole layers of a BERT into ONNX Runtime's own operators: a request in int8 takes .82 to .90 of the time."""
    config = json.loads((model.folder / "config.json").read_text(encoding="utf-8"))
    if config.get("model_type") != "bert" or not {"num_attention_heads", "hidden_size"} <= config.keys():
        return
    from onnxruntime.transformers import optimizer

    fused = optimizer.optimize_model(
        str(path),
        "bert",
        num_heads=config["num_attention_heads"],
        hidden_size=config["hidden_size"],
        opt_level=0,
        use_gpu=False,
    )
    fused.save_model_to_file(str(path))
