"""Writes the indexes of a snapshot under construction.

`lexical` writes a Tantivy index for each lexical signal; `dense` writes the vectors and, for a large catalog, an index
of `centroids` and its `moments`.
"""
