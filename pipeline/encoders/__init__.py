"""Encoders as files: exported to ONNX without torch, models of the hub by short names, and our own with its deltas.

`export` makes and caches exports; `delta` reads and writes low-rank deltas over a base model; `named` has the short
names; `default_encoder` finds or exports our own encoder, whose files are in `tools_encoder/`. A router of tools in
memory loads this package late, and only where it encodes.
"""
