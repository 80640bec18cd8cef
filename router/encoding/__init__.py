"""Text to vectors.

`encoder` runs an exported encoder in the router and applies the query adapter; `default_encoder` finds the packaged
model's export; `export` makes the files of an encoder, offline.
"""
