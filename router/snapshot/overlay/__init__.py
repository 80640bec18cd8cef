"""Tools registered, changed and removed while a router runs: a small layer over a snapshot, searched with it.

`overlay` is the layer as a value, `storage` its file. `layering.apply_overlay` makes a snapshot of both, out of
`indexed_tool` (one registered tool, ready to search), `records`, `lexical` and `duplicates`. Meant for some thousands
of tools that no build has seen yet, such as those of an MCP server that connects late.
"""

from router.snapshot.overlay.overlay import Overlay, RegisteredTool

__all__ = ["Overlay", "RegisteredTool"]
