"""Measure what a `kill -9` costs: `python -m benchmarks.enrichment_kills`.

A real build is killed at ten random moments and then finished; the server, in a process of its own, counts how often it
was asked about each tool. An answer is paid for twice where a kill fell between its question and its commit.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.enrichment_rate import tools
from benchmarks.limited_server import running, stats

_RESULTS = Path(__file__).parent / "results" / "enrichment_kills.json"


def kills(count: int, times: int, rpm: int, seed: int, latency: tuple[float, float] = (0.05, 0.6)) -> dict[str, Any]:
    """Build a catalog of so many tools, killed so many times; return one row for each kill, and the end."""
    draw = random.Random(seed)
    moments = sorted(draw.sample(range(count // 50, count - count // 50), times))
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch, running("--rpm", rpm, "--latency", *latency, "--seed", seed) as url:
        folder = Path(scratch)
        (folder / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in tools(count)))
        for moment in moments:
            with _building(folder, url, rpm) as process:
                while stats(url, "count")["accepted"] < moment + _again(rows):
                    assert process.poll() is None, (folder / "build.log").read_text()
                    time.sleep(0.01)
                time.sleep(draw.uniform(0.0, 0.1))
                process.kill()
            at_kill = stats(url)
            time.sleep(2 * latency[1])  # what it had sent is accepted by now, and answered to nobody
            server_stats, kept = stats(url), _stored_answers(folder)
            rows.append(
                {
                    "asked": len(server_stats["accepted"]),
                    "in_ledger": kept,
                    "in_flight_at_the_server": at_kill["in_flight"],
                    "lost": len(server_stats["accepted"]) - kept,
                    "asked_again_before": sum(n - 1 for n in server_stats["accepted"].values()),
                }
            )
        with _building(folder, url, rpm) as process:
            code = process.wait()
        server_stats = stats(url)
        kept = _stored_answers(folder)
    twice = sum(n - 1 for n in server_stats["accepted"].values())
    before = [row.pop("asked_again_before") for row in rows] + [twice]
    for row, first, last in zip(rows, before, before[1:], strict=False):
        row["asked_twice"] = last - first
    return {"tools": count, "exit": code, "requests": len(server_stats["accepted_at"]), "in_ledger": kept,
            "paid_twice": twice, "most_under_way": server_stats["most_in_flight"], "kills": rows}  # fmt: skip


def _again(rows: list[dict[str, Any]]) -> int:
    """Return the number of requests that are made again before a new tool is asked about."""
    return sum(row["lost"] for row in rows)


def _building(folder: Path, url: str, rpm: int) -> "subprocess.Popen[bytes]":
    environment = {
        **os.environ,
        "OPENAI_API_KEY": "local",
        "OPENAI_BASE_URL": url,
        "QUARTERMASTER_ENRICHMENT__REQUESTS_PER_MINUTE": str(rpm),
    }
    command = [str(Path(sys.executable).with_name("quartermaster")), "build", str(folder / "tools.jsonl")]
    command += ["--encoder", "none", "--workspace", str(folder / "workspace")]
    log = (folder / "build.log").open("ab")
    return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def _stored_answers(folder: Path) -> int:
    with duckdb.connect(str(folder / "workspace" / "ledger.duckdb"), read_only=True) as connection:
        return int(
            connection.execute(
                "SELECT count(DISTINCT expansion_key) FROM expansions WHERE generator = 'openai'"
            ).fetchall()[0][0]
        )


def main(count: int = 2_000, times: int = 10, rpm: int = 6_000, seed: int = 20) -> None:
    """Kill, finish, print, write."""
    result = kills(count, times, rpm, seed)
    print("kill  asked  in the ledger  lost  of them in flight at the server  asked twice for it")
    for number, row in enumerate(result["kills"], 1):
        print(
            f"{number:4}  {row['asked']:5}  {row['in_ledger']:13}  {row['lost']:4}  "
            f"{row['in_flight_at_the_server']:31}  {row['asked_twice']:18}"
        )
    print(
        f"finished: {result['in_ledger']:,} answers of {result['tools']:,} tools in the ledger, "
        f"{result['requests']:,} requests, {result['paid_twice']} paid for twice; exit {result['exit']}; "
        f"at most {result['most_under_way']} under way at once"
    )
    _RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
