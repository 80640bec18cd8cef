"""Measure how many texts are embedded a second:
`python -m benchmarks.embedding CATALOG [--tools 100] [--against STORED]`.

Documents and phrases of a catalog's folder, as a build embeds them, by sentence-transformers with its defaults and by
the exported copy in fp32 and int8: on every core, and on one thread. The ways take turns, so that what else the machine
does falls on all alike; a figure is the median over rounds, `of reference` the median of the ratios within a round.
`cosine` is that of a text's vectors by the copy and by sentence-transformers.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.measuring import RESULTS, about, arguments, report
from pipeline import records, sources
from pipeline.encoders.export import ExportCache
from pipeline.enrichment.chain import FileGenerator
from pipeline.enrichment.generator import GeneratedExpansion
from pipeline.progress import SilentProgress
from pipeline.settings import load
from pipeline.vectors import BatchEncoder, ReferenceEncoder, export_encoder, resolve_encoder
from router.tools.field_text import project_record, record_document

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]


def texts_of(catalog: Path, tools: int) -> list[str]:
    """What a build embeds of so many tools, drawn evenly: their records, their documents, their phrases."""
    settings = load(catalog, environment={})
    held = records.catalog_records(sources.read(settings).tools).records
    written = FileGenerator(catalog / "expansions.jsonl", {})
    found: dict[str, None] = {}
    for place in np.linspace(0, len(held) - 1, min(tools, len(held))).astype(int):
        record = held[place]
        found[record_document(record)] = None
        question = written.question(record, "")
        for outcome in next(iter(written.generate([question] if question else []))):
            if isinstance(outcome, GeneratedExpansion):
                document = project_record(record, outcome.expansion)
                found.update(dict.fromkeys((document.dense, *document.phrases)))
    return list(found)


def main() -> None:
    parser = arguments(__doc__, RESULTS / "embedding.json")
    parser.add_argument("catalog", type=Path)
    parser.add_argument("--tools", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2")
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    found = about()
    settings = load(given.catalog, {"vectors": {"encoder": given.encoder}}, environment={}).vectors
    model = resolve_encoder(settings, SilentProgress())
    if model is None:
        raise SystemExit("--encoder none embeds nothing")
    from sentence_transformers import SentenceTransformer

    texts = texts_of(given.catalog, given.tools)
    reference = SentenceTransformer(str(model.folder), device="cpu")
    ways: dict[str, Encode] = {
        "sentence-transformers": lambda some: np.asarray(reference.encode(list(some), show_progress_bar=False))
    }
    with tempfile.TemporaryDirectory() as folder:
        for precision in ("fp32", "int8"):
            copy = export_encoder(
                model, precision, ReferenceEncoder(model, settings.batch_size), ExportCache([Path(folder)])
            )
            ways[precision] = BatchEncoder(copy, settings.batch_size).encode
            ways[f"{precision}, one thread"] = BatchEncoder(copy, settings.batch_size, 1).encode
        for encode in ways.values():
            encode(texts[:20])
        wall: dict[str, list[float]] = {name: [] for name in ways}
        cpu: dict[str, list[float]] = {name: [] for name in ways}
        made: dict[str, Vectors] = {}
        for _ in range(given.rounds):
            for name, encode in ways.items():
                begun, spent = time.perf_counter(), time.process_time()
                made[name] = encode(texts)
                wall[name].append(time.perf_counter() - begun)
                cpu[name].append(time.process_time() - spent)
    by_default = made["sentence-transformers"] / np.linalg.norm(made["sentence-transformers"], axis=1, keepdims=True)
    figures = {}
    for name in ways:
        cosines = np.sum(made[name] * by_default, axis=1)
        figures[name] = {
            "texts_a_second": round(len(texts) / statistics.median(wall[name]), 1),
            "of reference": round(_gain(wall["sentence-transformers"], wall[name]), 2),
            "texts_a_cpu_second": round(len(texts) / statistics.median(cpu[name]), 1),
            "of reference, cpu": round(_gain(cpu["sentence-transformers"], cpu[name]), 2),
            "cosine_mean": round(float(cosines.mean()), 6),
            "cosine_least": round(float(cosines.min()), 6),
        }
    report(f"{len(texts):,} texts of {given.catalog.name} embedded", found, figures, given.json, given.against)


def _gain(reference: Sequence[float], taken: Sequence[float]) -> float:
    return statistics.median(before / after for before, after in zip(reference, taken, strict=True))


if __name__ == "__main__":
    main()
