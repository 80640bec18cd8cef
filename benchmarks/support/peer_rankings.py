"""Rankings of tools by other routers, made in the Python that has them, and kept."""

import hashlib
import itertools
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.support.measuring import BENCHMARKS
from router.expansion import Expansion
from router.record import ToolRecord

NotMeasured = dict[str, str]  # why, by peer


@dataclass(frozen=True, slots=True)
class Ranked:
    """A peer's rankings, for each request ids, best first; and the versions of its packages."""

    rankings: Sequence[Sequence[str]]
    versions: Mapping[str, str]


_FIXED = {"PYTHONHASHSEED": "0", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}


def definition(record: ToolRecord, expansion: Expansion | None = None) -> dict[str, Any]:
    """Return a tool as peers take it, its expansion at the end of the description."""
    tool: dict[str, Any] = {
        "id": record.tool_id,
        "name": record.name,
        "provider": record.provider,
        "description": record.description,
        "parameters": dict(record.input_schema),
    }
    if expansion:
        phrases = [text for text in (*expansion.user_phrases, expansion.when_to_use) if text]
        terms = (*expansion.synonyms, *expansion.related_concepts, *expansion.task_categories)
        translations = itertools.chain.from_iterable(expansion.translations.values())
        tool["description"] = " ".join([record.description, *phrases, *terms, *translations])
        tool["phrases"] = phrases
    return tool


def rank(
    tools: Sequence[Mapping[str, Any]], requests: Sequence[str], peers: Sequence[str], python: Path, keep: Path
) -> tuple[dict[str, Ranked], NotMeasured]:
    """Return the rankings by peer, and why other peers have none.

    Rankings of the same tools and requests that lie in the folder `keep` are read from there: use another folder after
    an upgrade of the peers. Raises CalledProcessError where a peer fails.
    """
    content = json.dumps([tools, requests], sort_keys=True)
    folder = keep / "rankings" / hashlib.sha256(content.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    absent: NotMeasured = {}
    missing = [peer for peer in peers if not (folder / f"{peer}.json").is_file()]
    if missing:
        absent = _measure({"tools": tools, "requests": requests, "peers": missing}, python, folder)
    return {peer: _read(folder / f"{peer}.json") for peer in peers if peer not in absent}, absent


def _read(file: Path) -> Ranked:
    row = json.loads(file.read_text("utf-8"))
    return Ranked(row["rankings"], row["versions"])


def _measure(asked: Mapping[str, Any], python: Path, folder: Path) -> NotMeasured:
    """Write the file of each peer as soon as it is done; return the reasons of those that are not installed."""
    command = [str(python), "-m", "benchmarks.support.peers.rank"]
    absent: NotMeasured = {}
    with subprocess.Popen(
        command,
        cwd=BENCHMARKS.parent,
        env={**os.environ, **_FIXED, "PYTHONPATH": str(BENCHMARKS.parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(asked))
        process.stdin.close()
        for line in process.stdout:
            row = json.loads(line)
            if "missing" in row:
                absent[row["peer"]] = row["missing"]
            else:
                (folder / f"{row['peer']}.json").write_text(line, encoding="utf-8")
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return absent
