"""The router's copy of the encoder, exported once a user: a plain BERT without torch, any other model with it."""

from importlib import util
from pathlib import Path

from pipeline.errors import RunAborted
from pipeline.progress import Progress
from pipeline.vectors.reference import ReferenceEncoder
from router.encoding.export import EncoderModel, Export, ExportCache, cache_folder
from router.encoding.export.bert import unsupported_reason
from router.encoding.export.onnx_export import export as export_model
from router.errors import EncoderInvalid

__all__ = ["Export", "export", "user_cache"]


def user_cache(model: EncoderModel, workspace: Path, progress: Progress) -> ExportCache:
    """The user's exported encoders; where their folder cannot be written, the workspace's own."""

    def begin() -> None:
        progress.start("export" if unsupported_reason(model) is None else "trace", None)

    return ExportCache([cache_folder(), workspace / "encoders"], progress.note, begin)


def export(model: EncoderModel, precision: str, reference: ReferenceEncoder, cache: ExportCache) -> Export:
    """Return the model's export, made where the cache has none.

    `precision` "auto" is int8 where that agrees with fp32, else fp32. Raises RunAborted where the export does not agree
    with the model, or torch is needed and not installed.
    """
    tracer = reference if util.find_spec("sentence_transformers") else None
    try:
        return export_model(model, precision, cache, tracer)
    except EncoderInvalid as error:
        raise RunAborted(str(error)) from error
