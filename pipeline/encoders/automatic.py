"""What `encoder = "auto"` chooses on this machine, as far as that is known without asking the hub.

Nothing heavy is imported: a listing of snapshots asks it.
"""

import os
from pathlib import Path

from pipeline.encoders.export import PACKAGED, TOOLS_ENCODER, packaged_folder
from router.contract import Manifest

PREFERRED = "BAAI/bge-base-en-v1.5"
# What `auto` takes, or has taken, where the preferred model cannot be had; the one of today last.
INSTALLED = (PACKAGED, TOOLS_ENCODER)
_HUB = (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub"))


def newer_choice(manifest: Manifest) -> str | None:
    """Return the name of the encoder that a rebuild by `auto` takes in place of a snapshot's.

    None where it takes the same, where the settings named the encoder, and where only the hub knows: a snapshot of a
    model that `auto` prefers is expected to keep it. A snapshot that does not tell how its encoder was chosen counts as
    built by `auto` if `auto` could have chosen it.
    """
    preferred = PREFERRED if manifest.preferred_encoder is None else manifest.preferred_encoder
    current = untuned_name(manifest)
    if not preferred or current not in INSTALLED:
        return None
    choice = automatic_choice(preferred)
    return choice if choice != current else None


def automatic_choice(preferred: str) -> str | None:
    """Return the encoder that `auto` takes here without the hub: `preferred` if it is on disk, else the installed one.

    None where neither is here.
    """
    if is_on_disk(preferred):
        return preferred
    return INSTALLED[-1] if packaged_folder() is not None else None


def is_on_disk(name: str) -> bool:
    """Return whether a name is that of a folder, or of a model in the hub's cache; False where it cannot be looked up.

    The name may stand in a stranger's manifest: it can be too long for a path.
    """
    model = _hub_cache() / f"models--{name.replace('/', '--')}"
    try:
        if Path(name).is_dir():
            return True
        revision = (model / "refs" / "main").read_text(encoding="utf-8").strip()
        return bool(revision) and (model / "snapshots" / revision / "config.json").exists()
    except (OSError, ValueError):
        return False


def _hub_cache() -> Path:
    """Return the folder where huggingface_hub keeps models, by the variables that it reads."""
    for variable, inside in _HUB:
        if folder := os.environ.get(variable):
            return Path(os.path.expandvars(folder)).expanduser() / inside
    return Path.home() / ".cache" / "huggingface" / "hub"


def untuned_name(manifest: Manifest) -> str | None:
    """Return the name of a snapshot's encoder; that of its base where it was tuned, as `<base>-tuned-<key>`."""
    if manifest.encoder is None:
        return None
    evidence = manifest.tuning.get("encoder")
    key = evidence.get("key") if isinstance(evidence, dict) else None
    return manifest.encoder.model.removesuffix(f"-tuned-{key}")
