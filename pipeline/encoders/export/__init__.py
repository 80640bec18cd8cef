"""The export of encoders to ONNX, without torch.

`model` describes a model's files, or a delta over them; `installed` finds those that need no download. `bert` writes
its graph (by `graph`); `onnx_export` makes and checks an export, with `quantization` for int8, `bert_numpy` as the
reference and `agreement_texts` as the test set. `cache` keeps the exports of a user, `collection` removes those that
nothing uses. `onnx` is imported only where an export is made, `safetensors` also where a delta is described.
"""

from pipeline.encoders.export.cache import Export, ExportCache, cache_folder
from pipeline.encoders.export.collection import UNUSED_DAYS, ExportUse, remove_unused
from pipeline.encoders.export.installed import INSTALL_PACKAGED, PACKAGED, TOOLS_ENCODER, packaged_folder, tools_folder
from pipeline.encoders.export.model import WEIGHTS_FILE, EncoderModel, describe_model

__all__ = [
    "INSTALL_PACKAGED",
    "PACKAGED",
    "TOOLS_ENCODER",
    "UNUSED_DAYS",
    "WEIGHTS_FILE",
    "EncoderModel",
    "Export",
    "ExportCache",
    "ExportUse",
    "cache_folder",
    "describe_model",
    "packaged_folder",
    "remove_unused",
    "tools_folder",
]
