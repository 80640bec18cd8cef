"""What a router loads, opens and hashes until its first answer. Time is not measured: what takes it is counted."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from router.contract import CATALOG_DB, MANIFEST
from tests.support.places import ROOT

# What an answer from a snapshot without an overlay and a signature does without.
UNUSED = tuple(
    (
        "quartermaster router.answer.diagnosis router.dialogue pipeline.encoders.default_encoder "
        "pipeline.encoders.export router.expansion router.feedback router.provider_formats.rendering "
        "router.selection.profile router.signing router.snapshot.memory "
        "router.snapshot.overlay.layering router.snapshot.overlay.storage pipeline.store.bucket.store "
        "pipeline.store.local router.snapshot.trust router.store router.tools.arguments "
        "router.tools.definitions.reading router.tools.functions.reading router.tools.functions.schemas "
        "router.tools.naming router.tools.prerequisites.matching router.tools.trust.steering_text "
        "asyncio concurrent.futures cryptography duckdb importlib.metadata pydantic sqlite3 tomllib"
    ).split()
)
# A module more is a fraction of a millisecond more for each process that starts: raise these only for what it needs.
MOST_MODULES = 104
MOST_DATACLASSES = 9
MOST_PATTERNS = 34
_FIRST_ANSWER = """
import dataclasses, json, re, sys
counts = {"dataclasses": 0, "patterns": 0}

def counted(module, function, name):
    original = getattr(module, function)

    def count(*arguments, **options):
        frame = sys._getframe(1)
        while frame.f_globals["__name__"].partition(".")[0] in ("dataclasses", "functools", "re"):
            frame = frame.f_back
        counts[name] += frame.f_globals["__name__"].partition(".")[0] == "router"  # not what Python itself makes
        return original(*arguments, **options)

    setattr(module, function, count)

import msgspec, numpy, onnxruntime, tantivy, tokenizers  # they count for themselves, as what measures coverage does
before = {*sys.modules}
counted(dataclasses, "_process_class", "dataclasses")
counted(re._compiler, "compile", "patterns")
hashed = []
from router import Router
from router.snapshot import hashing
sha256 = hashing._sha256
hashing._sha256 = lambda descriptor, buffer: hashed.append(descriptor) or sha256(descriptor, buffer)
routed = Router.open(sys.argv[1]).route("refund the customer", explain=True)
print(json.dumps({
    "tools": len(routed),
    "loaded": sorted({*sys.modules} - before),
    "hashed": len(hashed),
    "hashed twice": len(hashed) - len({*hashed}),
    **counts,
}))
"""


@pytest.fixture(scope="module")
def first_answer(snapshot: Path) -> dict[str, Any]:
    """What a new process counted."""
    command = [sys.executable, "-c", _FIRST_ANSWER, str(snapshot)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_first_answer_loads_only_what_it_uses_and_does_not_creep_up(first_answer: dict[str, Any]) -> None:
    within = tuple(f"{name}." for name in UNUSED)
    assert first_answer["tools"] == 8
    assert [name for name in first_answer["loaded"] if name in UNUSED or name.startswith(within)] == []
    own = [name for name in first_answer["loaded"] if name.partition(".")[0] == "router"]
    assert 60 < len(own) <= MOST_MODULES
    assert 0 < first_answer["dataclasses"] <= MOST_DATACLASSES
    assert 0 < first_answer["patterns"] <= MOST_PATTERNS


def test_every_file_that_serves_is_hashed_once(first_answer: dict[str, Any], snapshot: Path) -> None:
    files = json.loads((snapshot / MANIFEST).read_text(encoding="utf-8"))["files"]
    assert first_answer["hashed"] == len([name for name in files if name != CATALOG_DB])
    assert first_answer["hashed twice"] == 0


def test_importing_the_package_loads_none_of_its_libraries() -> None:
    code = "import sys, router; print([name for name in ('numpy', 'tantivy', 'router.router') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"
