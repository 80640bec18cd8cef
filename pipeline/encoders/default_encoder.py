"""The default encoder: the one that comes with Quartermaster, a delta over the packaged model, exported once per user.

folder = find_default_encoder()
encoder = OnnxEncoder.open(folder, read_spec(folder)) if folder else None
"""

from collections.abc import Callable
from importlib import util
from pathlib import Path

from pipeline.encoders.export import (
    INSTALL_PACKAGED,
    PACKAGED,
    TOOLS_ENCODER,
    EncoderModel,
    Export,
    ExportCache,
    cache_folder,
    describe_model,
    packaged_folder,
    tools_folder,
)
from router.distribution import install_command

# The packages that an export needs.
_EXPORT_PACKAGES = ("onnx", "safetensors", "filelock")


def find_default_encoder(make: bool = True, note: Callable[[str], object] = lambda message: None) -> Path | None:
    """Return the folder of the default encoder's export, with `model.onnx` and `tokenizer.json`; None without one.

    A missing export is made, which takes some seconds once, unless `make` is false or a package that it needs is not
    installed. Without it, an export of the packaged model alone is returned, where an earlier build made one. `note` is
    called with messages for the user. Raises EncoderInvalid where the encoder or the packaged model is damaged, or no
    cache folder can be written.
    """
    cache = ExportCache(
        [cache_folder()], note, lambda: note(f"exporting the encoder {TOOLS_ENCODER}: some ten seconds, once a user")
    )
    packaged = packaged_folder()
    if packaged is None or util.find_spec("safetensors") is None:  # an export of another environment may be there
        named = cache.find_named(TOOLS_ENCODER) or cache.find_named(PACKAGED)
        return named.folder if named else None
    model = describe_model(TOOLS_ENCODER, tools_folder())
    exported = _find(model, cache)
    if exported is None and make and all(util.find_spec(name) for name in _EXPORT_PACKAGES):
        from pipeline.encoders.export.onnx_export import export

        exported = export(model, "auto", cache)
    if exported is None and (damaged := cache.damaged(model.spec(_precision(model, cache)))):
        note(f"the exported encoder in {damaged} is damaged and not used: the next build makes it again")
    if exported is None:
        exported = _find(describe_model(PACKAGED, packaged), cache)
    return exported.folder if exported else None


def install_default_encoder() -> str:
    """Return the commands that install what this environment lacks to export the default encoder; "" without any."""
    commands = []
    if not all(util.find_spec(name) for name in _EXPORT_PACKAGES):
        commands.append(install_command("local"))
    if packaged_folder() is None:
        commands.append(INSTALL_PACKAGED)
    return ", then ".join(commands)


def _find(model: EncoderModel, cache: ExportCache) -> Export | None:
    return cache.find(model.spec(_precision(model, cache)))


def _precision(model: EncoderModel, cache: ExportCache) -> str:
    return "int8" if cache.refusal(model.spec("int8")) is None else "fp32"
