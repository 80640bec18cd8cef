"""Data flows one way, and the router is light: shown by the imports themselves."""

import json
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.support.imports import imported, imports, modules, room
from tests.support.places import ROOT

# A line is a level: a room imports rooms of the lines above, never of its own.
LEVELS = [
    {f"{package}.{name}" for name in names.split()}
    for package, _, names in (
        line.strip().partition(": ")
        for line in """
        router: errors operation record expansion files fingerprint contract text process \
refusals distribution user_cache typed
        router: tools encoding signing feedback
        router: provider_formats query
        router: retrieval
        router: snapshot
        router: selection search store
        router: answer
        router: served_tools
        router: registration
        router: router
        router: dialogue
        router: __init__
        quartermaster: package_check
        quartermaster: __init__
        quartermaster: addresses mcp_lists validation
        quartermaster: calling evaluation needs
        quartermaster: adapters
        quartermaster: serving
        pipeline: __init__ errors current_run progress execution sentences tokens memo
        pipeline: failure scratch feedback encoders store module_tools
        pipeline: settings
        pipeline: sources workers
        pipeline: records
        pipeline: ledger
        pipeline: enrichment vectors
        pipeline: phrase_checks learning indexing
        pipeline: build_state
        pipeline: inspection
        pipeline: publish
        pipeline: monitoring
        pipeline: build
        quartermaster: training
        quartermaster: output
        flows: __init__
        flows: artifacts runtime serving
        flows: tasks
        flows: build_catalog
        flows: schedule
        quartermaster: cli
        quartermaster: __main__
        """.strip().splitlines()
    )
]
# A router of tools in memory exports its encoder where it has none: loaded late.
LATE = {("router.snapshot.memory.encoders", "pipeline.encoders.default_encoder")}
GROUND = LEVELS[0]  # its modules may import each other
# What the build may use beside its own rooms: all that answers are made of, the public face, and the evaluation.
SHARED = {f"quartermaster.{name}" for name in ("addresses", "mcp_lists", "validation", "evaluation")}
FOR_THE_BUILD = set().union(*LEVELS[:6]) | {"router.router", "router.__init__"} | SHARED
WITH_EXTRAS = {"quartermaster.adapters", "quartermaster.mcp_lists", "quartermaster.serving"}
HEAVY = ("torch", "prefect", "openai", "sentence_transformers", "transformers", "pydantic", "duckdb", "pyarrow")


def level(module: str) -> int:
    """The number of a module's level; one that no level lists fails the test."""
    return next(number for number, rooms in enumerate(LEVELS) if room(module) in rooms)


def test_a_room_imports_only_rooms_above_it() -> None:
    pairs = [(a, b) for a, b in imports() if room(a) != room(b) and not {room(a), room(b)} <= GROUND]
    pairs = [pair for pair in pairs if pair not in LATE]
    assert len(pairs) > 300
    assert [f"{importer} imports {other}" for importer, other in pairs if level(importer) <= level(other)] == []
    assert {room(b) for a, b in imports() if room(a).startswith("pipeline") and not b.startswith("pipeline")} <= (
        FOR_THE_BUILD
    )


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for importer, other in imports():
        graph.setdefault(importer, set()).add(other)
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_nothing_lies_loose_beside_the_rooms() -> None:
    assert {room(module) for module in modules()} == set().union(*LEVELS)


def test_the_router_imports_nothing_heavy() -> None:
    of_extras = {"openai", "pydantic", "duckdb", "pyarrow"}
    for module, path in modules().items():
        if level(module) <= level("quartermaster.serving"):
            heavy = {*HEAVY} - of_extras if room(module) in WITH_EXTRAS else {*HEAVY}
            assert {name.partition(".")[0] for name in imported(path)}.isdisjoint(heavy), module


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


@pytest.mark.parametrize(
    "module", ["quartermaster", "router", "pipeline.build", "pipeline.settings", "quartermaster.cli"]
)
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
from quartermaster.cli.main import main
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
