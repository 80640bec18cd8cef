"""The export of encoders to ONNX, without torch.

`model` describes a model's files; `bert` writes its graph (by `graph`); `onnx_export` makes and checks an export, with
`quantization` for int8, `bert_numpy` as the reference and `agreement_texts` as the test set; `cache` keeps the exports
of a user. `onnx` and `safetensors` are imported only where an export is made.
"""

from router.encoding.export.cache import Export, ExportCache, cache_folder, read_spec
from router.encoding.export.model import INSTALL_PACKAGED, PACKAGED, EncoderModel, describe_model, packaged_folder

__all__ = [
    "INSTALL_PACKAGED",
    "PACKAGED",
    "EncoderModel",
    "Export",
    "ExportCache",
    "cache_folder",
    "describe_model",
    "packaged_folder",
    "read_spec",
]
