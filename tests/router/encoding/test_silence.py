"""ONNX Runtime reports nothing: it makes no identity of the machine and no queue of reports."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.places import ROOT


def test_encoding_a_request_leaves_nothing_in_the_users_folders(snapshot: Path, tmp_path: Path) -> None:
    code = f"from router import Router; print(Router.open({str(snapshot)!r}).route('a refund').ids[0])"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**environment, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )
    assert "/" in done.stdout, done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_onnx_runtime_is_silenced_before_a_module_imports_it() -> None:
    texts = {
        path: path.read_text(encoding="utf-8")
        for name in ("router", "pipeline")
        for path in (ROOT / name).rglob("*.py")
    }
    before = {
        path: re.split(r"^ +(?:from|import) onnxruntime", text, flags=re.MULTILINE) for path, text in texts.items()
    }
    importing = {path.name: parts[0] for path, parts in before.items() if len(parts) > 1}
    assert len(importing) >= 3
    assert [name for name, text in importing.items() if "silence_onnxruntime()" not in text] == []
