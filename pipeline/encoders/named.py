"""Encoders by a short name: models of the hub, downloaded once. A name or an id may pin a revision, as `bge@main`.

A model's quality is not claimed here: what it brings to a catalog, `quartermaster evaluate --against-encoder` measures.
"""

from types import MappingProxyType

from pipeline.encoders.export.installed import PACKAGED, TOOLS_ENCODER

# By name the id on the hub, and the megabytes of the download.
NAMED = MappingProxyType(
    {
        "bge": ("BAAI/bge-small-en-v1.5", 134),
        "bge-base": ("BAAI/bge-base-en-v1.5", 439),
        "bge-large": ("BAAI/bge-large-en-v1.5", 1_341),
        "multilingual": ("intfloat/multilingual-e5-small", 488),
    }
)
_ENGLISH = {PACKAGED, TOOLS_ENCODER, *(NAMED[name][0] for name in NAMED if name != "multilingual")}


def full_name(encoder: str) -> str:
    """Return the id that an encoder's short name stands for, with its revision; any other encoder as it is."""
    name, at, revision = encoder.partition("@")
    return NAMED[name][0] + at + revision if name in NAMED else encoder


def is_english(encoder: str) -> bool:
    """Return whether an encoder, by its full name, is known to be made for English."""
    return encoder.partition("@")[0] in _ENGLISH
