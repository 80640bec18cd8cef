"""Encoders as files: exported to ONNX without torch, chosen by `encoder = "auto"`, and our own with its deltas.

`export` makes and caches exports; `delta` reads and writes low-rank deltas over a base model; `automatic` says what
"auto" takes; `default_encoder` finds or exports our own encoder, whose files are in `tools_encoder/`. A router of tools
in memory loads this package late, and only where it encodes.
"""
