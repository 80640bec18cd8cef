"""Measure the rate that enrichment reaches under a server's limits: `python -m benchmarks.enrichment_rate`.

Each line is a process that asks about generated tools through the whole of `enrich`, ledger and all; the server, in a
process of its own, enforces the limit and counts.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from benchmarks.limited_server import running, stats

_RESULTS = Path(__file__).parent / "results" / "enrichment_rate.json"
_WARM_UP_S = 5.0
_VERBS = "create list get update delete archive export import share merge".split()
_NOUNS = "invoice ticket contact meeting report order shipment refund campaign employee asset policy".split()


def tools(count: int) -> list[dict[str, Any]]:
    """Return generated tools, each with words of its own."""
    generated: list[dict[str, Any]] = []
    for n in range(count):
        verb, noun = _VERBS[n % 10], _NOUNS[n // 10 % 12]
        text = f"{verb.capitalize()} the {noun} number {n} of region {n % 17}, with its notes and its history."
        generated.append({"id": f"p{n % 20}/{verb}_{noun}_{n}", "name": f"{verb}_{noun}_{n}", "provider": f"p{n % 20}",
                     "description": text, "parameters": {}, "category": None, "examples": []})  # fmt: skip
    return generated


def _ask(count: int, url: str, alone: bool = False, **settings: Any) -> dict[str, Any]:
    """Enrich so many tools; return the time and memory of this process. With `alone`, no answer is stored."""
    from pipeline.enrichment import Enrichment, EnrichmentContext, enrich
    from pipeline.enrichment.generator import questions_about
    from pipeline.enrichment.openai import DirectGenerator
    from pipeline.ledger import Ledger
    from pipeline.progress import SilentProgress
    from pipeline.records import catalog_records
    from pipeline.settings import EnrichmentSettings
    from tests.support.factories import make_raw

    catalog = catalog_records(
        make_raw(t["name"], provider=t["provider"], description=t["description"]) for t in tools(count)
    )
    generator = DirectGenerator(EnrichmentSettings(base_url=url, api_key=SecretStr("local"), **settings))
    generator.counter.length("")  # tiktoken's file is looked for, once
    result = Enrichment()
    with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder)) as ledger:
        context = EnrichmentContext(
            catalog, ledger, ledger.start_run("rate"), SilentProgress(), lambda _, expansion: (expansion, ())
        )
        enrich(context, [generator], batch=catalog.records[:1], into=result)  # all that is imported late is there
        before, cpu, begun = _rss(), time.process_time(), time.monotonic()
        if alone:
            for _ in generator.generate(questions_about(catalog, generator, catalog.records[1:])):
                pass
        else:
            enrich(context, [generator], batch=catalog.records[1:], into=result)
        seconds, cpu = time.monotonic() - begun, time.process_time() - cpu
    return {"answers": len(result.written), "seconds": seconds, "cpu_ms": 1e3 * cpu / count, "rss_mb": _rss() - before}


def _rss() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _measure(label: str, count: int, server: list[object], **settings: Any) -> dict[str, Any]:
    with running(*server) as url:
        arguments = json.dumps({"count": count, "url": url, **settings})
        command = [sys.executable, "-m", "benchmarks.enrichment_rate", arguments]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        server_stats = stats(url)
    at = server_stats["accepted_at"][1:]
    span = at[-1] - at[0]
    limits = dict(zip(server[::2], server[1::2], strict=False))
    allowed = {"--rpm": limits.get("--rpm"), "--tpm": limits.get("--tpm")}
    tokens = server_stats["prompt_tokens"] + server_stats["completion_tokens"]
    taken = {"--rpm": len(at), "--tpm": tokens * len(at) / (len(at) + 1)}
    share = max((taken[k] * 60 / span / float(str(limit)) for k, limit in allowed.items() if limit), default=None)
    return {
        "what": label, "tools": count, "requests": len(at) + 1, **row, "share": share, "a_second": len(at) / span,
        "refused": len(server_stats["refused"]),
        "refused_after_warm_up": sum(moment > at[0] + _WARM_UP_S for moment in server_stats["refused"]),
        "tokens_a_tool": tokens / count, "cached": server_stats["cached_tokens"] / server_stats["prompt_tokens"],
        "most_under_way": server_stats["most_in_flight"],
    }  # fmt: skip


def main(tools: int = 2_000, rpm: int = 6_000) -> None:
    """Measure, print, write."""
    rows = []
    print(f"{'':34}   tools  share  per s  refused  after warm-up  tokens/tool  cached  CPU ms  RSS +MB")
    tpm = rpm * 1_400
    cases: list[tuple[str, int, list[object], dict[str, Any]]] = [
        *(
            (f"{name}, {style}", tools, [limit, n, "--style", style], {field: n})
            for name, field, limit, n in (
                ("requests", "requests_per_minute", "--rpm", rpm),
                ("tokens", "tokens_per_minute", "--tpm", tpm),
            )
            for style in ("minute", "second", "bucket", "fixed")
        ),
        ("requests, learned from headers", tools, ["--rpm", rpm], {}),
        ("requests, learned from refusals", tools, ["--rpm", rpm, "--no-headers", "--no-retry-after"], {}),
        *(
            (f"the generator alone, {n:,} tools", n, ["--latency", 0.0, 0.1], {"concurrency": 64, "alone": True})
            for n in (tools, 10 * tools)
        ),
    ]
    for label, count, server, settings in cases:
        row = _measure(label, count, server, **settings)
        rows.append(row)
        share = f"{row['share']:.3f}" if row["share"] else "    –"
        print(
            f"{label:34} {count:7,}  {share}  {row['a_second']:5.0f}  {row['refused']:7}  "
            f"{row['refused_after_warm_up']:13}  {row['tokens_a_tool']:11.0f}  {row['cached']:6.0%}  "
            f"{row['cpu_ms']:6.1f}  {row['rss_mb']:7.1f}",
            flush=True,
        )
    _RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("{"):
        print(json.dumps(_ask(**json.loads(sys.argv[1]))))
    else:
        main(*map(int, sys.argv[1:]))
