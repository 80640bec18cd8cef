"""The router's copies of the encoder, exported to ONNX: a plain BERT without torch, any other model with it."""

from dataclasses import dataclass, field
from functools import partial
from importlib import util
from pathlib import Path

from pipeline.encoders.export import EncoderModel, Export, ExportCache, ExportUse, cache_folder
from pipeline.encoders.export.bert import unsupported_reason
from pipeline.encoders.export.onnx_export import export
from pipeline.errors import RunAborted
from pipeline.execution import Execution
from pipeline.progress import Progress
from pipeline.settings import VectorSettings
from pipeline.vectors.reference import ReferenceEncoder
from router.errors import EncoderInvalid


@dataclass(frozen=True)
class EncoderExports:
    """The exports that a build needs, each made at first use: fp32 for tools, the settings' precision for requests."""

    settings: VectorSettings
    model: EncoderModel
    execution: Execution
    cache: ExportCache
    _by_precision: dict[str, Export] = field(default_factory=dict)
    _in_use: list[ExportUse] = field(default_factory=list)

    def make(self) -> None:
        """Make both exports now. Raises RunAborted as `export_encoder` does."""
        self.of_tools()
        self.of_requests()

    def of_tools(self) -> Export:
        """Return the fp32 export, which embeds tools."""
        return self._export("fp32")

    def of_requests(self) -> Export:
        """Return the export that the router runs."""
        return self._export(self.settings.precision)

    def _export(self, precision: str) -> Export:
        if precision not in self._by_precision:
            reference = ReferenceEncoder(self.model, self.settings.batch_size)
            make = partial(export_encoder, self.model, precision, reference, self.cache)
            exported = self.execution.run("export", make)
            self._in_use.append(ExportUse(exported.folder))  # for as long as the build may link its files
            self._by_precision[precision] = exported
        return self._by_precision[precision]


def user_cache(model: EncoderModel, workspace: Path, progress: Progress, storage: Path | None = None) -> ExportCache:
    """Return the user's cache of exports, with the workspace as the fallback for a folder that cannot be written.

    Where workers are on other machines, the exports are in the `storage` that they share with the build.
    """

    def start_stage() -> None:
        progress.start("export" if unsupported_reason(model) is None else "trace", None)

    folders = [storage / "encoders"] if storage else [cache_folder(), workspace / "encoders"]
    return ExportCache(folders, progress.note, start_stage)


def export_encoder(model: EncoderModel, precision: str, reference: ReferenceEncoder, cache: ExportCache) -> Export:
    """Return the model's export, made where the cache has none.

    `precision` "auto" is int8 where that agrees with fp32, else fp32. Raises RunAborted where the export does not agree
    with the model, or torch is needed and not installed.
    """
    tracer = reference if util.find_spec("sentence_transformers") else None
    try:
        return export(model, precision, cache, tracer)
    except EncoderInvalid as error:
        raise RunAborted(str(error)) from error
