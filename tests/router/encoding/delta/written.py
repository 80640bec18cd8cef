"""A delta over no base in particular, written to a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from router.encoding.delta import DeltaHeader, write_checksums, write_delta

HEADER = DeltaHeader("some-base", "a" * 64, 2.0, 2, "ask: ")
SHAPES = {"layer.query": (3, 4), "layer.out": (4, 3)}


def factors(shapes: Mapping[str, tuple[int, int]] = SHAPES) -> dict[str, tuple[Any, Any]]:
    random = np.random.default_rng(0)
    return {
        name: (random.normal(size=(2, inputs)).astype(np.float16), random.normal(size=(outputs, 2)).astype(np.float16))
        for name, (outputs, inputs) in shapes.items()
    }


def saved(folder: Path, header: DeltaHeader = HEADER) -> Path:
    path = write_delta(folder, header, factors())
    write_checksums(folder)
    return path
