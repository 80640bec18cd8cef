"""Fine-tune the encoder on requests whose tools are known: a catalog's own phrases, judged requests, past requests.

`pairs` holds what is learned from, made of one catalog (`catalog_pairs`) or several (`several_catalogs`). `plan` holds
the settings of a training, `batches` puts siblings side by side, `training` runs the steps on `low_rank` deltas.
`adoption` says whether a catalog is served by the result, `reuse` carries it on to the next snapshot, and `one_encoder`
saves one for other catalogs. `saving` writes a delta with its `model_card`, or all weights. torch and
sentence-transformers are imported only where training begins.
"""
