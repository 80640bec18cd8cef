"""All targets by name. A new one is a `Target` in one of these modules, or in a module that is named here too."""

from simulations.fuzz.target import Target
from simulations.fuzz.targets import (
    answers,
    deltas,
    documents,
    http,
    mcp,
    overlays,
    readers,
    records,
    routing,
    settings,
    snapshots,
    upstreams,
    written_files,
)

_MODULES = (
    deltas, documents, readers, records, written_files, settings, answers, routing, overlays, snapshots, http, mcp,
    upstreams,
)  # fmt: skip
TARGETS: dict[str, Target] = {target.name: target for module in _MODULES for target in module.TARGETS}
