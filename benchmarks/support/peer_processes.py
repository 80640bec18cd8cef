"""Ask selectors of tools, each in a process of its own, in the Python that has it."""

import hashlib
import itertools
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.support.measuring import BENCHMARKS
from router.expansion import Expansion
from router.record import ToolRecord

_FIXED = {
    "PYTHONHASHSEED": "0",
    "PYTHONPATH": str(BENCHMARKS.parent),
    "HF_HUB_OFFLINE": "1",
    "TQDM_DISABLE": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "TOKENIZERS_PARALLELISM": "false",
    **{f"{pool}_NUM_THREADS": "1" for pool in ("OMP", "OPENBLAS", "MKL", "RAYON", "TOKIO_WORKER", "LANCE_CPU")},
}


class NotMeasured(Exception):
    """A selector is not installed, failed or took too long. The message is the reason."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What `benchmarks.support.peers.ask` says of a selector, with the units given there."""

    versions: Mapping[str, str]
    rankings: Sequence[Sequence[str]]
    wall_ms: Sequence[float]
    cpu_ms: Sequence[float]
    build_s: float
    build_cpu_s: float
    rss_mb: float
    callers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


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


def ask_selector(question: Mapping[str, Any], python: Path, limit_s: float) -> Answered:
    """Return the answers of a selector, asked by `python -m benchmarks.support.peers.ask`.

    Raises NotMeasured where it is not installed, fails, takes more than `limit_s` seconds, or names a tool that it was
    not given.
    """
    command = [str(python), "-m", "benchmarks.support.peers.ask"]
    try:
        done = subprocess.run(
            command,
            cwd=BENCHMARKS.parent,
            env={**os.environ, **_FIXED},
            input=json.dumps(question),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        raise NotMeasured(f"did not end within {limit_s:g} s") from None
    except OSError as error:
        raise NotMeasured(f"{python} cannot be run: {error.strerror}") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotMeasured(f"failed: {lines[-1].strip()[:300]}" if lines else f"ended with status {done.returncode}")
    row = json.loads(done.stdout.splitlines()[-1])
    if "missing" in row:
        raise NotMeasured(row["missing"])
    answered = Answered(**row)
    _check(answered, question)
    return answered


def kept_answer(folder: Path, name: str, question: Mapping[str, Any], ask: Callable[[], Answered]) -> Answered:
    """Return the answers to a question that lie in a folder, or ask for them and keep them. Raises as `ask` does."""
    content = json.dumps([question[part] for part in ("tools", "requests", "timed")], sort_keys=True)
    file = folder / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:16]}.json"
    if file.is_file():
        return Answered(**json.loads(file.read_text(encoding="utf-8")))
    answered = ask()
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(answered)), encoding="utf-8")
    return answered


def _check(answered: Answered, question: Mapping[str, Any]) -> None:
    if len(answered.rankings) != len(question["requests"]):
        raise NotMeasured(f"answered {len(answered.rankings)} of {len(question['requests'])} requests")
    known = {tool["id"] for tool in question["tools"]}
    unknown = [tool_id for ranking in answered.rankings for tool_id in ranking if tool_id not in known]
    if unknown:
        raise NotMeasured(f"names {len(unknown)} tools that it was not given, such as {unknown[0]!r}")
