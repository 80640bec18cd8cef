"""call: an operation of an HTTP API, by the id of its tool."""

import asyncio
from pathlib import Path
from typing import Annotated, Optional

import typer

from quartermaster.cli.commands.arguments import (
    WORKSPACE,
    CacheDir,
    Catalog,
    JsonOutput,
    SelectionFile,
    SnapshotSource,
    TrustedKeys,
    Workspace,
    open_router,
)


def call(
    tool_id: Annotated[str, typer.Argument(metavar="TOOL", help="The id of the tool, as search prints it.")],
    calls: Annotated[
        Optional[Path],
        typer.Option(
            help="A TOML or JSON file of HTTP APIs, [provider.NAME]: see docs/serving.md. A dry run needs none."
        ),
    ] = None,
    arguments: Annotated[str, typer.Option(help="The arguments, as a JSON object.")] = "{}",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Send nothing: print the request, with secrets masked.")
    ] = False,
    selection: SelectionFile = None,
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: SnapshotSource = None,
    cache_dir: CacheDir = None,
    trusted_keys: TrustedKeys = None,
    as_json: JsonOutput = False,
) -> None:
    """Call a tool of an OpenAPI document at its API, and print what that answers.

    \b
    quartermaster call prefect/read_flow_by_name --calls calls.toml --arguments '{"name": "nightly"}'

    Ends with 3 where the API answers with an error, or with nothing.
    """
    import msgspec

    from quartermaster.adapters.tool_search import object_of
    from quartermaster.calling import CallSettings, HttpCaller, ProviderCalls, read_call_settings

    if calls is not None:
        settings = read_call_settings(calls)
    elif dry_run:
        settings = CallSettings({"*": ProviderCalls(document_server=True)})
    else:
        raise typer.BadParameter(
            "name the file that says how the API is called; --dry-run needs none", param_hint="--calls"
        )
    given = object_of(arguments)
    with open_router(snapshot, workspace, catalog, selection, trusted_keys, cache_dir) as router:
        caller = HttpCaller(router, settings)
        result = caller.preview(tool_id, given) if dry_run else asyncio.run(caller.call(tool_id, given))
    print(msgspec.json.encode(result).decode() if as_json else result.text)
    if result.is_error:
        raise typer.Exit(3)
