"""Tools registered, changed and removed while a router runs: a small layer over a snapshot, searched with it.

The layer is for what a build has not seen yet (an MCP server that connects late, a list that changed); some thousands
of tools. `router.snapshot.overlay.layering.over` lays it over a snapshot; `router.snapshot.reloading` keeps it over the
next ones.
"""

from router.snapshot.overlay.overlay import Overlay, Registered

__all__ = ["Overlay", "Registered"]
