"""The default encoder: the packaged all-MiniLM-L6-v2, exported once a user and found by whoever needs it.

folder = default_encoder()
encoder = OnnxEncoder.open(folder, spec_of(folder)) if folder else None
"""

from collections.abc import Callable
from importlib import util
from pathlib import Path

from router.encoding.export import PACKAGED, ExportCache, cache_folder, describe_model, packaged_folder

# What makes an export.
_NEEDED = ("onnx", "safetensors", "filelock")


def find_default_encoder(make: bool = True, note: Callable[[str], object] = lambda message: None) -> Path | None:
    """Return the folder of the default encoder's export, `model.onnx` and `tokenizer.json`; None where there is none.

    Where it was not exported yet it is made, which takes some seconds once, unless `make` is false or what that takes
    is not installed. `read_spec` reads what a manifest says of it. `note` is told what a person should know. Raises
    EncoderInvalid where the packaged model is damaged, or the export can be written nowhere.
    """
    cache = ExportCache([cache_folder()], note)
    source = packaged_folder()
    if source is None:  # a build in another environment may have exported it
        named = cache.find_named(PACKAGED)
        return named.folder if named else None
    model = describe_model(PACKAGED, source)
    precision = "int8" if cache.refusal(model.spec("int8")) is None else "fp32"
    found = cache.find(model.spec(precision))
    if found is None and make and all(util.find_spec(name) for name in _NEEDED):
        from router.encoding.export.onnx_export import export

        found = export(model, "auto", cache)
    if found is None and (damaged := cache.damaged(model.spec(precision))):
        note(f"the exported encoder in {damaged} is damaged and not used: the next build makes it again")
    return found.folder if found else None
