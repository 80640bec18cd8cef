"""A delta's file, whose checksum fits: its header as JSON, and some bytes of numbers."""

import json
from typing import Any

import numpy as np

from pipeline.encoders.delta import DELTA_FILE, read_delta, write_checksums
from router.errors import EncoderInvalid
from simulations.fuzz.mutation import Form
from simulations.fuzz.target import Resources, Run, Target, read_object
from simulations.fuzz.targets import seeds

_SHAPES = {"query": (3, 4), "out": (4, 3)}
_MOST_BYTES = 1 << 16


def _tensors(**shapes: tuple[int, int]) -> dict[str, Any]:
    tensors, end = {}, 0
    for name, shape in shapes.items():
        first, end = end, end + 2 * shape[0] * shape[1]
        tensors[name.replace("_", ".")] = {"dtype": "F16", "shape": shape, "data_offsets": [first, end]}
    return tensors


def _seeds() -> tuple[bytes, ...]:
    metadata = {"format_version": "1", "base": "base", "base_weights": "0" * 64, "scale": "2.0", "rank": "2"}
    one = _tensors(query_down=(2, 4), query_up=(3, 2))
    two = _tensors(query_down=(2, 4), query_up=(3, 2), out_down=(1, 3), out_up=(4, 1))
    heads: list[tuple[dict[str, Any], int]] = [
        ({"__metadata__": metadata, **one}, 28),
        ({"__metadata__": {**metadata, "query_prefix": "ask: "}, **two}, 42),
        ({"__metadata__": metadata, **one}, 1_000),
        (dict(two), 42),
    ]
    return tuple(seeds.document({"head": head, "bytes": count, "byte": 60}) for head, count in heads)


def _read(resources: Resources) -> Run:
    folder = resources.folder("delta")

    def run(data: bytes) -> None:
        row = read_object(data)
        count, byte = (abs(value) if isinstance(value := row.get(name), int) else 0 for name in ("bytes", "byte"))
        head = json.dumps(row.get("head")).encode()
        content = len(head).to_bytes(8, "little") + head + bytes([byte % 256]) * (count % _MOST_BYTES)
        (folder / DELTA_FILE).write_bytes(content)
        write_checksums(folder)
        for name, change in read_delta(folder / DELTA_FILE).changes(_SHAPES):
            assert change.shape == _SHAPES[name] and np.isfinite(change).all()

    return run


TARGETS = (Target("delta", Form.JSON, _seeds(), _read, (EncoderInvalid,)),)
