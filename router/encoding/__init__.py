"""Text to vectors.

`encoder` runs an exported encoder in the router and applies the query adapter; `default_encoder` finds the export of
our own encoder, whose files are in `tools_encoder/`; `delta` reads and writes low-rank deltas over a base; `export`
makes the files of an encoder, offline.
"""
