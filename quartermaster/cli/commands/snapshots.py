"""snapshots and quarantine: which snapshot serves, and which tools are held back."""

from typing import Annotated, Optional

import typer

from pipeline.store import catalogs
from quartermaster.cli.commands.arguments import WORKSPACE, JsonOutput, Workspace, catalog_to_change
from router.errors import SettingsInvalid
from router.snapshot.store.bucket.url import is_url

_CATALOG = typer.Argument(help="A catalog of the workspace, or the address of one in a bucket; by default, all.")
_ID = typer.Argument(metavar="[ID]", help="What --pin pins or --sign signs; by default, the current one.")


def snapshots(
    catalog: Annotated[Optional[str], _CATALOG] = None,
    snapshot: Annotated[Optional[str], _ID] = None,
    workspace: Workspace = WORKSPACE,
    rollback: Annotated[bool, typer.Option("--rollback", help="Serve the snapshot before the current one.")] = False,
    use: Annotated[Optional[str], typer.Option(help="Serve this snapshot: one held back, or an older one.")] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Keep a snapshot serving: builds are held back.")] = False,
    unpin: Annotated[bool, typer.Option("--unpin", help="Let builds publish again.")] = False,
    release: Annotated[
        Optional[str], typer.Option(help="Let builds publish the content of this snapshot again, after a rollback.")
    ] = None,
    sign: Annotated[
        bool, typer.Option("--sign", help="Sign a snapshot with --sign-key: the current one, or the ID.")
    ] = False,
    sign_key: Annotated[
        Optional[str],
        typer.Option(
            envvar="QUARTERMASTER_PUBLISH__SIGN_KEY",
            help="The private key that signs a decision: a PEM file, or ${NAME} of a variable.",
        ),
    ] = None,
    unsigned: Annotated[
        bool, typer.Option("--unsigned", help="Decide without a signature, though snapshots here have one.")
    ] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Check every file against its checksum.")] = False,
    as_json: JsonOutput = False,
) -> None:
    """List the snapshots, verify them, or choose which one serves.

    An address such as s3://bucket/catalogs/demo stands for a catalog in a bucket. The workspace of builds that publish
    there has a copy, which is listed by the catalog's name; decisions go to the bucket.
    """
    from quartermaster.output.snapshots import Decision, decide, show_snapshots

    decision = Decision(rollback, use, pin, unpin, release, snapshot, sign, sign_key, unsigned)
    names = catalogs(workspace)
    if catalog or decision.given:
        names = [catalog if catalog and is_url(catalog) else catalog_to_change(catalog, workspace)]
    if len(decision.given) > 1:
        raise SettingsInvalid(f"{' and '.join(decision.given)} are decisions of their own: give one")
    if snapshot and not (pin or sign):
        raise SettingsInvalid(
            f"{snapshot!r} is one argument too many: only --pin and --sign take a snapshot after the catalog"
        )
    if decision.given:
        decide(workspace, names[0], decision)
    if not show_snapshots(workspace, names, verify=verify, as_json=as_json):
        raise typer.Exit(4)


_Ids = Optional[list[str]]


def quarantine(
    catalog: Annotated[Optional[str], typer.Argument(help="A catalog of the workspace.")] = None,
    workspace: Workspace = WORKSPACE,
    release: Annotated[
        _Ids, typer.Option(metavar="ID", help="Let this tool serve from the next build on; may be given again.")
    ] = None,
    hold: Annotated[
        _Ids, typer.Option(metavar="ID", help="Take back the release of this tool; may be given again.")
    ] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for a build of the workspace to end.")] = 0.0,
    as_json: JsonOutput = False,
) -> None:
    """List the tools that builds hold back alone, or release them.

    Such a tool would enter the first five of requests that its name and first sentence do not fit. A new one is left
    out, a changed one serves as it was. A released tool is checked again when it changes.
    """
    from quartermaster.output.quarantine import decide_quarantine, show_quarantine

    name = catalog_to_change(catalog, workspace)
    if both := set(release or ()) & set(hold or ()):
        raise SettingsInvalid(f"{sorted(both)[0]!r} is to be released and held: give one")
    if release or hold:
        decide_quarantine(workspace, name, release or [], hold or [], wait)
    show_quarantine(workspace, name, as_json=as_json)
