"""A router in memory is quick and light: nothing heavy is imported, nothing is left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.places import ROOT

HEAVY = """torch transformers sentence_transformers prefect openai duckdb pyarrow pydantic faiss onnxruntime
    tokenizers rich typer pipeline flows""".split()
EXAMPLE = """
import json, sys
from router import Router

def refund_charge(charge: str, amount: int | None = None) -> str:
    "Give a customer the money of a charge back, all of it or a part."
    return f"refunded {charge}"

def list_charges(customer: str) -> list[str]:
    "List the payments of a customer, newest first."
    return ["ch_2", "ch_1"]

router = Router.from_tools([refund_charge, list_charges], encoder=None)
routed = router.route("return the money to the customer", k=1)
answer = router.call(routed.ids[0], {"charge": "ch_1"})
import threading
print(json.dumps({"answer": answer, "loaded": list(sys.modules), "threads": threading.active_count()}))
"""


def test_functions_to_an_answer_without_anything_heavy(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("XDG_CACHE_HOME", None)
    command = [sys.executable, "-W", "error", "-c", EXAMPLE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    found = json.loads(done.stdout)
    assert done.stderr == "" and found["answer"] == "refunded ch_1"
    assert [name for name in HEAVY if name in found["loaded"]] == []
    assert found["threads"] == 1
    assert list(tmp_path.iterdir()) == []
