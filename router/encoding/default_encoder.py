"""The default encoder: the packaged all-MiniLM-L6-v2, exported once per user.

folder = find_default_encoder()
encoder = OnnxEncoder.open(folder, read_spec(folder)) if folder else None
"""

from collections.abc import Callable
from importlib import util
from pathlib import Path

from router.encoding.export import PACKAGED, ExportCache, cache_folder, describe_model, packaged_folder

# The packages that an export needs.
_EXPORT_PACKAGES = ("onnx", "safetensors", "filelock")


def find_default_encoder(make: bool = True, note: Callable[[str], object] = lambda message: None) -> Path | None:
    """Return the folder of the default encoder's export, with `model.onnx` and `tokenizer.json`; None without one.

    A missing export is made, which takes some seconds once, unless `make` is false or a package that it needs is not
    installed. `note` is called with messages for the user. Raises EncoderInvalid where the packaged model is damaged,
    or no cache folder can be written.
    """
    cache = ExportCache([cache_folder()], note)
    source = packaged_folder()
    if source is None:  # a build in another environment may have exported it
        exported = cache.find_named(PACKAGED)
        return exported.folder if exported else None
    model = describe_model(PACKAGED, source)
    precision = "int8" if cache.refusal(model.spec("int8")) is None else "fp32"
    exported = cache.find(model.spec(precision))
    if exported is None and make and all(util.find_spec(name) for name in _EXPORT_PACKAGES):
        from router.encoding.export.onnx_export import export

        exported = export(model, "auto", cache)
    if exported is None and (damaged := cache.damaged(model.spec(precision))):
        note(f"the exported encoder in {damaged} is damaged and not used: the next build makes it again")
    return exported.folder if exported else None
