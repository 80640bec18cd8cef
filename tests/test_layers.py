"""Data flows one way, and the router is light: shown by the imports themselves."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

# In the order of the data: a stage may import what stands before it.
STAGES = (
    "errors",
    "settings",
    "progress",
    "execution",
    "tokens",
    "sources",
    "records",
    "ledger",
    "enrichment",
    "lexical",
    "vectors",
    "dense",
    "assessment",
    "tuning",
    "expansions",
    "inspection",
    "publish",
    "copies",
    "lessons",
    "plan",
    "report",
    "build",
)
HEAVY = ("torch", "prefect", "openai", "sentence_transformers", "transformers", "pydantic", "duckdb", "pyarrow")


def imported(path: Path) -> set[str]:
    """Full names of the modules that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


@pytest.mark.parametrize(
    "path", sorted((ROOT / "pipeline").rglob("*.py")), ids=lambda p: p.relative_to(ROOT).as_posix()
)
def test_a_stage_imports_no_later_stage(path: Path) -> None:
    own = path.relative_to(ROOT / "pipeline").parts[0].removesuffix(".py")
    if own == "__init__":
        return
    stages = {parts[1] for name in imported(path) if (parts := name.split("."))[0] == "pipeline" and len(parts) > 1}
    assert {stage for stage in stages if STAGES.index(stage) > STAGES.index(own)} == set()


def is_extra(path: Path) -> bool:
    """Whether a file of the router is of what an extra brings: servers, and adapters for agents."""
    return bool({"serving", "adapters"} & set(path.relative_to(ROOT).parts))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "router").rglob("*.py")), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_the_router_imports_neither_the_build_nor_what_is_heavy(path: Path) -> None:
    names = imported(path)
    tops = {name.partition(".")[0] for name in names}
    assert not tops & {"pipeline", "flows", "torch", "prefect", "sentence_transformers", "transformers"}
    if not is_extra(path):
        assert not tops & set(HEAVY)
        assert not any(name.startswith(("router.serving", "router.adapters")) for name in names)


def test_nobody_imports_flows() -> None:
    files = [*(ROOT / "pipeline").rglob("*.py"), *(ROOT / "router").rglob("*.py")]
    assert len(files) > 40
    assert not [path for path in files if any(name.split(".")[0] == "flows" for name in imported(path))]


def in_fresh_python(code: str) -> str:
    """What a new interpreter prints; its warnings are errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_importing_and_using_the_router_loads_nothing_heavy(snapshot: Path) -> None:
    code = f"""
import sys, router
early = [name for name in ("onnxruntime", "tokenizers", "rich", "typer") if name in sys.modules]
routed = router.Router.open({str(snapshot)!r}).route("refund the customer", explain=True)
print(early, [name for name in {HEAVY!r} if name in sys.modules], len(routed))
"""
    assert in_fresh_python(code) == "[] [] 8"


@pytest.mark.parametrize("module", ["quartermaster", "router", "pipeline.build", "pipeline.settings", "flows.cli"])
def test_importing_has_no_side_effect(module: str) -> None:
    code = f"""
import logging, os, threading
before = (dict(os.environ), logging.root.handlers[:], threading.active_count())
import {module}
print((dict(os.environ), logging.root.handlers[:], threading.active_count()) == before)
"""
    assert in_fresh_python(code) == "True"


HELPS = (
    "",
    "build",
    "search",
    "explain",
    "evaluate",
    "compare",
    "snapshots",
    "inspect",
    "login",
    "serve",
    "serve http",
    "serve mcp",
)


def test_help_loads_nothing_heavy() -> None:
    code = f"""
import json, sys
from flows.cli import main
loaded = {{}}
for command in {HELPS!r}:
    sys.argv = ["quartermaster", *command.split(), "--help"]
    try:
        main()
    except SystemExit as end:
        assert end.code == 0, (command, end.code)
    loaded[command] = [name for name in {HEAVY!r} if name in sys.modules]
print(json.dumps(loaded))
"""
    # typer itself takes pydantic where it is installed, and does without where it is not.
    loaded = json.loads(in_fresh_python(code).splitlines()[-1])
    assert list(loaded) == list(HELPS)
    assert {command: names for command, names in loaded.items() if names not in ([], ["pydantic"])} == {}
