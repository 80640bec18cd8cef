"""The command line. Thin: it parses, calls one function, draws the result. What is heavy is imported late, so that
search, explain, evaluate and snapshots work with the light install."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from router import Router
from router.errors import QuartermasterError, SettingsInvalid, SnapshotInvalid

app = typer.Typer(
    help="""Routes an agent's request to the few tools that fit, out of thousands.

    Offline, `build` reads tool catalogs, has a model write how people ask for each tool, and publishes a snapshot of
    three BM25 indexes and vectors. Online, `search` and `explain` (and `router` in Python) answer from it.

    Start:   quartermaster build catalogs/demo    then    quartermaster search "refund a customer"

    Exit codes: 0 done; 1 done, but something was held back; 2 wrong arguments or settings; 3 a source, model or budget
    stopped the run; 4 a snapshot is missing, corrupt or foreign.""",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

WORKSPACE = Path(".quartermaster")

Workspace = Annotated[Path, typer.Option(help="Folder of the ledger and the snapshots.")]
Catalog = Annotated[Optional[str], typer.Option(help="Which catalog of the workspace, where it has several.")]
At = Annotated[
    Optional[Path], typer.Option("--snapshot", help="A snapshot's or a catalog's folder, instead of the workspace.")
]
RecipeName = Annotated[
    Optional[str], typer.Option("--recipe", help="default, published or lexical; else the snapshot's own.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Limit = Annotated[int, typer.Option("-k", help="How many tools.")]
Request = Annotated[str, typer.Argument(help="What should be done, in everyday words.")]


@app.command()
def build(
    path: Annotated[Path, typer.Argument(help="A catalog folder, or a file or folder of tool definitions.")],
    workspace: Workspace = WORKSPACE,
    generator: Annotated[Optional[str], typer.Option(help="auto, openai, lexicon or none.")] = None,
    encoder: Annotated[
        Optional[str], typer.Option(help="auto, none, all-MiniLM-L6-v2, a model's name or folder.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Write a snapshot though nothing changed.")] = False,
    flow: Annotated[
        bool, typer.Option("--flow", help="Run it as a Prefect flow: retries, time-outs, artifacts, an evaluation.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Build a catalog's snapshot and publish it. Prints the snapshot's folder last.

    PATH is a folder with catalog.toml, or one file or folder of a known format: OpenAPI or Swagger (JSON, YAML),
    function schemas, a saved MCP tools/list answer, JSONL (with expansions.jsonl beside it, if there is one).

    A second build asks the model nothing and embeds nothing that is unchanged. Without a key (OPENAI_API_KEY) or base
    URL (OPENAI_BASE_URL) a lexicon writes the expansions, which is free and weaker.
    """
    from flows.build_screen import show_report
    from flows.screen import Bars, out, plain
    from pipeline.build import build as run
    from pipeline.settings import load, overrides

    settings = load(path, overrides(generator, encoder))
    with Bars() as bars:
        if flow:
            from flows.engine import run_flow

            report = run_flow(bars, path, workspace, generator, encoder, force)
        else:
            report = run(settings, workspace=workspace, force=force, progress=bars)
    if as_json:
        print(json.dumps(report.to_json(), ensure_ascii=False))
    else:
        show_report(report)
        out.print(plain(str(report.snapshot), "bold"), soft_wrap=True)
    if report.held:
        raise typer.Exit(1)


@app.command()
def schedule(
    path: Annotated[Path, typer.Argument(help="What to build, as for build.")],
    cron: Annotated[str, typer.Option(help="When, as in crontab: minute, hour, day, month, weekday.")] = "0 2 * * *",
    timezone: Annotated[str, typer.Option(help="Of the cron expression, such as Europe/Berlin.")] = "UTC",
    workspace: Workspace = WORKSPACE,
    generator: Annotated[Optional[str], typer.Option(help="As in build.")] = None,
    encoder: Annotated[Optional[str], typer.Option(help="As in build.")] = None,
) -> None:
    """Build a catalog every night, until interrupted: the build is served as a Prefect deployment.

    Uses the Prefect server that is configured (PREFECT_API_URL), else starts one that ends with this command. To let
    a work pool run the builds instead, see prefect.yaml.
    """
    from flows.schedule import next_runs, serve_nightly
    from flows.screen import Bars, err
    from pipeline.settings import load, overrides

    settings = load(path, overrides(generator, encoder))
    times = next_runs(cron, timezone)
    bars = Bars()

    def ready(server: str) -> None:
        bars.stop()
        err.print(f"Building {settings.name} at {cron!r}: next {', then '.join(times)}", markup=False, soft_wrap=True)
        err.print(f"Runs, logs and artifacts: {server}   Stop: Ctrl-C", markup=False, soft_wrap=True)

    with bars:
        bars.start("engine", None)
        serve_nightly(
            path,
            settings,
            workspace,
            cron=cron,
            timezone=timezone,
            generator=generator,
            encoder=encoder,
            ready=ready,
        )


@app.command()
def search(
    request: Request,
    k: Limit = 10,
    recipe: RecipeName = None,
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: At = None,
    as_json: Json = False,
) -> None:
    """The tools that fit a request, best first."""
    from flows.screen import out, routed_table

    routed = _open(snapshot, workspace, catalog).route(request, k=k, recipe=recipe)
    if as_json:
        print(json.dumps(routed.to_json(), ensure_ascii=False))
    else:
        out.print(routed_table(routed))


@app.command()
def explain(
    request: Request,
    tool: Annotated[Optional[str], typer.Argument(help="A tool id: why does it rank where it does?")] = None,
    k: Limit = 10,
    recipe: RecipeName = None,
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: At = None,
    as_json: Json = False,
) -> None:
    """Why these tools: rank and share of the score by signal, and the phrase that came nearest.

    With a TOOL, where that one tool stands in every list, however far down.
    """
    from flows.screen import explained_table, out, plain

    router = _open(snapshot, workspace, catalog)
    if tool is None:
        routed = router.route(request, k=k, explain=True, recipe=recipe)
        if as_json:
            print(json.dumps(routed.to_json(), ensure_ascii=False))
        else:
            out.print(explained_table(routed))
            out.print(f"recipe {routed.recipe}, snapshot {routed.snapshot}", style="dim")
        return
    found, rank = router.explain(request, tool, recipe=recipe)
    if as_json:
        print(json.dumps({"rank": rank, **found.to_json()}, ensure_ascii=False))
        return
    depth = router.recipe(recipe).depth
    place = f"rank {rank} of {len(router)}" if rank else f"in no list's first {depth}"
    out.print(plain(f"{found.tool_id}: {place}"), soft_wrap=True)
    for signal, at in found.ranks.items():
        gives = "nothing: past the recipe's depth" if at > depth else f"{found.contributions.get(signal, 0):.4f}"
        out.print(f"  {signal:<12} rank {at:>6}  gives {gives}")
    if found.phrase:
        out.print(plain(f"  nearest phrase: {found.phrase}"), soft_wrap=True)


@app.command()
def evaluate(
    bench: Annotated[
        Path, typer.Option(help="A folder with tools.jsonl and queries.jsonl, or a catalog that is judged.")
    ],
    without_expansions: Annotated[bool, typer.Option(help="Build without any expansions.")] = False,
    recipe: RecipeName = None,
    generator: Annotated[Optional[str], typer.Option(help="As in build.")] = None,
    encoder: Annotated[Optional[str], typer.Option(help="As in build.")] = None,
    snapshot: At = None,
    workspace: Workspace = WORKSPACE,
    json_file: Annotated[
        Optional[Path], typer.Option("--json", help="Write the figures to this file, or - to print them.")
    ] = None,
) -> None:
    """How well judged requests are answered: each signal alone, and fused.

    Builds the folder first, apart from what serves, unless --snapshot names what to measure. Metrics are means over
    requests, K = 10.
    """
    from flows.screen import Bars, evaluation_table, out
    from router.benchmark import measure
    from router.evaluation import judgements_of, read_judgements

    file = judgements_of(bench)
    if file is None:
        raise SettingsInvalid(f"{bench} holds neither queries.jsonl nor judgements.jsonl")
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise SettingsInvalid(f"--json {json_file}: there is no such folder")
    judgements = read_judgements(file)
    with Bars() as bars:
        if snapshot is None:
            snapshot = _build_bench(bench, without_expansions, generator, encoder, workspace, bars)
        router = Router.open(snapshot)
        bars.start("evaluate", len(judgements))
        result = measure(router, judgements, bench=bench.resolve().name, recipe=recipe, advance=bars.advance)
    text = json.dumps(result, indent=2)
    if json_file == Path("-"):
        print(text)
        return
    if json_file is not None:
        json_file.write_text(text + "\n", encoding="utf-8")
    out.print(evaluation_table(result))
    out.print(f"route: p50 {result['latency_ms']['p50']} ms, p95 {result['latency_ms']['p95']} ms", style="dim")


@app.command()
def snapshots(
    catalog: Annotated[
        Optional[str], typer.Argument(help="A catalog of the workspace; all of them if left out.")
    ] = None,
    workspace: Workspace = WORKSPACE,
    rollback: Annotated[bool, typer.Option(help="Serve the snapshot before the current one.")] = False,
    use: Annotated[Optional[str], typer.Option(help="Serve this snapshot: one held back, or an older one.")] = None,
    verify: Annotated[bool, typer.Option(help="Check every file of every snapshot against its checksum.")] = False,
    as_json: Json = False,
) -> None:
    """What was published, what serves, and going back."""
    from flows.snapshot_screen import change, show

    if rollback and use:
        raise SettingsInvalid("--rollback and --use are two ways to say what serves: give one")
    names = [catalog] if catalog else _catalogs(workspace)
    if catalog and catalog not in _catalogs(workspace):
        raise SnapshotInvalid(
            f"the workspace {workspace} has no catalog {catalog!r}: build it with `quartermaster build`"
        )
    if rollback or use:
        names = [_only(names, workspace)]
        change(workspace, names[0], use)
    if not show(workspace, names, verify=verify, as_json=as_json):
        raise typer.Exit(4)


@app.command()
def inspect(
    tool: Annotated[Optional[str], typer.Argument(help="A tool id: everything about that tool.")] = None,
    table: Annotated[Optional[str], typer.Option(help="The rows of this table or view.")] = None,
    against: Annotated[
        Optional[str], typer.Option(help="What changed since this snapshot: an id of the catalog's, or a folder.")
    ] = None,
    sql: Annotated[Optional[str], typer.Option(help="The answer to a SELECT; nothing can be written.")] = None,
    limit: Annotated[Optional[int], typer.Option(help="How many rows at most: 20, or 5 a section.")] = None,
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: At = None,
    as_json: Json = False,
) -> None:
    """What a snapshot holds, what it cost, what is thin, what failed, what changed.

    Without TOOL or options an overview, with the tables and views that can be asked.
    """
    from flows.inspect_screen import show
    from pipeline.inspection.reading import Inspection

    given = {"TOOL": tool, "--table": table, "--against": against, "--sql": sql}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise SettingsInvalid(f"{' and '.join(names)} are different questions: give one")
    with Inspection.open(_folder(snapshot, workspace, catalog)) as inspection:
        show(inspection, tool=tool, table=table, against=against, sql=sql, limit=limit, as_json=as_json)


def _build_bench(
    bench: Path, without: bool, generator: str | None, encoder: str | None, workspace: Path, bars: Any
) -> Path:
    from pipeline.build import build as run
    from pipeline.settings import load, overrides

    settings = load(bench, overrides("none" if without else generator, encoder))
    if without:
        enrichment = settings.enrichment.model_copy(update={"expansions": None})
        settings = settings.model_copy(update={"enrichment": enrichment})
    return run(settings, workspace=workspace, area="evaluations", progress=bars).snapshot


def _open(snapshot: Path | None, workspace: Path, catalog: str | None) -> Router:
    return Router.open(_folder(snapshot, workspace, catalog))


def _folder(snapshot: Path | None, workspace: Path, catalog: str | None) -> Path:
    return snapshot or workspace / "snapshots" / (catalog or _only(_catalogs(workspace), workspace))


def _catalogs(workspace: Path) -> list[str]:
    folder = workspace / "snapshots"
    return sorted(f.name for f in folder.iterdir() if f.is_dir()) if folder.is_dir() else []


def _only(names: list[str], workspace: Path) -> str:
    if not names:
        raise SnapshotInvalid(f"the workspace {workspace} has no snapshot: build one with `quartermaster build`")
    if len(names) > 1:
        raise SettingsInvalid(f"the workspace {workspace} has several catalogs ({', '.join(names)}): name one")
    return names[0]


def main() -> None:
    """Run the command line; an error that was foreseen is one sentence and its exit code, never a traceback."""
    try:
        app()
    except QuartermasterError as error:
        from flows.screen import plain

        # It may name what a catalog, a server or a database said: data, never a command to the terminal.
        print(f"quartermaster: {plain(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name in ("router", "pipeline", "flows"):
            raise
        print(f"quartermaster: this needs {error.name}: pip install 'quartermaster[{_extra(name)}]'", file=sys.stderr)
        sys.exit(2)


def _extra(module: str) -> str:
    """The extra that brings a module. A build needs more than duckdb alone, which is only the first that it misses."""
    if module == "prefect":
        return "flows"
    return "inspect" if module == "duckdb" and sys.argv[1:2] == ["inspect"] else "build"
