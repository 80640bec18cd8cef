"""What an encoder costs: milliseconds for a request, seconds for a catalog's documents, bytes in a snapshot."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.encoders.export import Export
from pipeline.vectors.embedding import BatchEncoder
from router.contract import ENCODER_FOLDER, Manifest
from router.encoding.encoder import OnnxEncoder

_MOST_REQUESTS = 200
_MOST_DOCUMENTS = 256
_WARM_UP = 3  # first runs are slower: ONNX Runtime lays out its memory


@dataclass(frozen=True, slots=True)
class EncoderCost:
    """The cost of one encoder on this machine.

    `request_ms` is the p50 of encoding one request as the router does, on one thread. `documents_s` are the seconds to
    embed all `documents` of the catalog on every core; estimated from `documents_timed` of them. `bytes` is
    the size of the encoder's files in the snapshot. Without vectors all are 0, and the times None.
    """

    request_ms: float | None = None
    documents: int = 0
    documents_timed: int = 0
    documents_s: float | None = None
    bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return asdict(self)


def measure_costs(
    snapshots: Sequence[Path],
    exports: Sequence[Export | None],
    requests: Sequence[str],
    documents: Sequence[Sequence[str]],
    batch_size: int,
) -> list[EncoderCost]:
    """Return the cost of the encoder of each snapshot's folder.

    `exports` are the exported encoders, None for a snapshot without vectors; `documents` are the texts of its tools.
    """
    request_ms = _request_ms(snapshots, [text for text in _evenly(requests, _MOST_REQUESTS) if text.strip()])
    costs = []
    for snapshot, export, texts, milliseconds in zip(snapshots, exports, documents, request_ms, strict=True):
        if export is None:
            costs.append(EncoderCost())
            continue
        timed, encoder = _evenly(texts, _MOST_DOCUMENTS), BatchEncoder(export, batch_size)
        encoder.encode(timed[:_WARM_UP])
        started = time.perf_counter()
        encoder.encode(timed)
        seconds = (time.perf_counter() - started) * len(texts) / max(len(timed), 1)
        size = sum(file.stat().st_size for file in (snapshot / ENCODER_FOLDER).iterdir())
        costs.append(EncoderCost(milliseconds, len(texts), len(timed), round(seconds, 3), size))
    return costs


def _request_ms(snapshots: Sequence[Path], requests: Sequence[str]) -> list[float | None]:
    """Return the p50 of each snapshot's encoder. They take turns, so that what else runs slows all of them alike."""
    specs = [Manifest.read(snapshot).encoder for snapshot in snapshots]
    encoders = [
        OnnxEncoder.open(snapshot / ENCODER_FOLDER, spec) if spec else None
        for snapshot, spec in zip(snapshots, specs, strict=True)
    ]
    times: list[list[float]] = [[] for _ in encoders]
    for request in (*requests[:_WARM_UP], *requests):
        for encoder, of_encoder in zip(encoders, times, strict=True):
            if encoder is not None:
                started = time.perf_counter()
                encoder.encode_request(request)
                of_encoder.append((time.perf_counter() - started) * 1e3)
    timed = [of_encoder[_WARM_UP:] or of_encoder for of_encoder in times]
    return [round(float(np.median(of_encoder)), 3) if of_encoder else None for of_encoder in timed]


def _evenly(texts: Sequence[str], most: int) -> list[str]:
    """Return at most `most` of some texts, spread evenly."""
    return [texts[place * len(texts) // most] for place in range(most)] if len(texts) > most else list(texts)
