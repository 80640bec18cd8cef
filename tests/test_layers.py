"""Data flows one way, and the router is light: shown by the imports themselves."""

import json
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.support.imports import PACKAGES, imported, imports, modules, room
from tests.support.places import ROOT

# Rooms in the order of the data. A room imports rooms of lower levels, never one of its own level.
LEVELS: dict[str, tuple[tuple[str, ...], ...]] = {
    "router": (
        tuple(
            "addresses errors operation record expansion files fingerprint lazy_exports contract text process refusals "
            "distribution validation variables".split()
        ),
        ("tools", "encoding", "signing", "feedback"),
        ("provider_formats", "query"),
        ("retrieval",),
        ("snapshot",),
        ("selection", "search", "store"),
        ("answer",),
        ("dialogue", "served_tools"),
        ("registration",),
        ("router",),
        ("__init__",),
        ("calling",),
        ("serving", "adapters", "evaluation"),
    ),
    "pipeline": (
        ("__init__", "errors", "current_run", "progress", "execution", "sentences", "tokens"),
        ("failure", "scratch", "feedback"),
        ("settings",),
        ("sources",),
        ("records",),
        ("ledger",),
        ("enrichment", "vectors"),
        ("phrase_checks", "learning", "indexing", "inspection", "monitoring"),
        ("publish",),
        ("build",),
    ),
    "flows": (("__init__", "output"), ("engine",), ("evaluate",), ("build_catalog",), ("schedule",), ("cli",)),
}
GROUND = LEVELS["router"][0]  # its modules may import each other
# What the build may use of the router: all that answers are made of, its public face, and the evaluation.
FOR_THE_BUILD = {room for level in LEVELS["router"][:6] for room in level} | {"router", "__init__", "evaluation"}
HEAVY = ("torch", "prefect", "openai", "sentence_transformers", "transformers", "pydantic", "duckdb", "pyarrow")


def level(package: str, name: str) -> int:
    """The number of a room's level; a room that no level lists fails the test."""
    return next(number for number, rooms in enumerate(LEVELS[package]) if name in rooms)


def test_a_room_imports_only_rooms_below_it() -> None:
    pairs = [(a, b) for a, b in imports() if a.split(".")[0] == b.split(".")[0] and room(a) != room(b)]
    assert len(pairs) > 300
    assert [
        f"{importer} imports {other}"
        for importer, other in pairs
        if level(package := importer.split(".")[0], room(importer)) <= level(package, room(other))
        and not (package == "router" and room(importer) in GROUND and room(other) in GROUND)
    ] == []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for importer, other in imports():
        graph.setdefault(importer, set()).add(other)
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_nothing_lies_loose_beside_the_rooms() -> None:
    found = {package: {room(module) for module in modules() if module.split(".")[0] == package} for package in LEVELS}
    assert found == {package: {name for rooms in levels for name in rooms} for package, levels in LEVELS.items()}


def test_packages_build_on_each_other_in_one_direction() -> None:
    assert [
        f"{importer} imports {other}"
        for importer, other in imports()
        if PACKAGES.index(importer.split(".")[0]) < PACKAGES.index(other.split(".")[0])
    ] == []
    assert {room(b) for a, b in imports() if a.split(".")[0] == "pipeline" and b.startswith("router")} <= FOR_THE_BUILD


def test_the_router_imports_nothing_heavy() -> None:
    extras = ("serving", "adapters")  # they come with an extra of their own
    for module, path in modules().items():
        if module.split(".")[0] == "router":
            tops = {name.partition(".")[0] for name in imported(path)}
            heavy = {*HEAVY} - {"openai", "pydantic", "duckdb", "pyarrow"} if room(module) in extras else {*HEAVY}
            assert tops.isdisjoint(heavy), module


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


def test_help_loads_nothing_heavy() -> None:
    words = "build search explain call evaluate compare snapshots inspect login serve".split()
    commands = ["", *words, "serve http", "serve mcp"]
    code = f"""
import json, sys
from flows.cli.main import main
loaded = {{}}
for command in {commands!r}:
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
    assert list(loaded) == commands
    assert {command: names for command, names in loaded.items() if names not in ([], ["pydantic"])} == {}
