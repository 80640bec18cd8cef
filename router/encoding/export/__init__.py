"""The encoder on its way to the router: its files read, its weights exported to ONNX, its exports kept once a user.

All of it works without torch. `onnx` and `safetensors` are imported where an export is made, and only there.
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
