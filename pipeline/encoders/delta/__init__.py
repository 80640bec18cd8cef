"""A low-rank delta over a base (LoRA): an encoder of a megabyte, whose other weights are those of another model.

A delta's folder holds `delta.safetensors`: for each changed linear map of the base `<name>.down`, float16 of shape
(rank, inputs), and `<name>.up`, float16 of shape (outputs, rank). The map's weight becomes W + scale * up @ down. The
file's metadata (`header`) says over which base it was made, `factors` reads its numbers. `SHA256SUMS` (`checksums`)
covers the folder's files. See docs/decisions/encoder.md.

A delta may come from a stranger: whatever is wrong with it raises EncoderInvalid.
"""

from pipeline.encoders.delta.factors import Delta, Factors, change_of, read_delta, write_delta
from pipeline.encoders.delta.header import (
    CHECKSUMS_FILE,
    DELTA_FILE,
    DeltaHeader,
    read_checksums,
    read_header,
    write_checksums,
)

__all__ = [
    "CHECKSUMS_FILE",
    "DELTA_FILE",
    "Delta",
    "DeltaHeader",
    "Factors",
    "change_of",
    "read_checksums",
    "read_delta",
    "read_header",
    "write_checksums",
    "write_delta",
]
