"""Fine-tune the encoder on requests whose tools are known: a catalog's own phrases, judged requests, past requests.

`pairs` holds what is learned from, `batches` puts siblings side by side, `training` runs the steps on `low_rank` deltas,
and `measuring` tells what is gained. torch and sentence-transformers are imported only where training begins.
"""
