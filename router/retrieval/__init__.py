"""Rankings of tools for a query, and all that is computed from them: plain data in and out, nothing of a snapshot.

`retrievers` rank, one for each signal that the `registry` lists; `fusion` makes one ranking of them by a `recipe`;
`step_fusion` covers a request's steps; `deduplication` gives duplicates one place. `features` and
`score_normalization` feed the no-answer `calibration`. `arrays` reads stored arrays.
"""
