"""snapshots, quarantine, push and pull: what serves, here and in a bucket, and which tools are held back."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.store import catalogs
from quartermaster.cli.commands.options import (
    WORKSPACE,
    CacheDir,
    JsonOutput,
    TrustedKeys,
    TrustState,
    Workspace,
    catalog_to_change,
    required_keys,
)
from router.errors import SettingsInvalid
from router.snapshot.store.bucket.url import is_url

_CATALOG = typer.Argument(help="A catalog of the workspace, or the address of one in a bucket; by default, all.")
_ID = typer.Argument(metavar="[ID]", help="What --pin pins or --sign signs; by default, the current one.")


def snapshots(
    catalog: Annotated[str | None, _CATALOG] = None,
    snapshot: Annotated[str | None, _ID] = None,
    workspace: Workspace = WORKSPACE,
    rollback: Annotated[bool, "Serve the snapshot before the current one."] = False,
    use: Annotated[str | None, "Serve this snapshot: one held back, or an older one."] = None,
    pin: Annotated[bool, "Keep a snapshot serving: builds are held back."] = False,
    unpin: Annotated[bool, "Let builds publish again."] = False,
    release: Annotated[str | None, "Let builds publish the content of this snapshot again, after a rollback."] = None,
    sign: Annotated[bool, "Sign a snapshot with --sign-key: the current one, or the ID."] = False,
    sign_key: Annotated[
        str | None,
        typer.Option(
            envvar="QUARTERMASTER_PUBLISH__SIGN_KEY",
            help="The private key that signs a decision: a PEM file, or ${NAME} of a variable.",
        ),
    ] = None,
    unsigned: Annotated[bool, "Decide without a signature, though snapshots here have one."] = False,
    verify: Annotated[bool, "Check every file against its checksum."] = False,
    as_json: JsonOutput = False,
) -> None:
    """List the snapshots, verify them, or choose which one serves.

    An address such as s3://bucket/catalogs/demo stands for a catalog in a bucket. The workspace of builds that publish
    there has a copy, which is listed by the catalog's name; decisions go to the bucket.
    """
    from quartermaster.output.snapshots import decide, show_snapshots

    values = {"rollback": rollback, "use": use, "pin": pin, "unpin": unpin, "release": release, "sign": sign}
    given = [f"--{option}" for option, value in values.items() if value not in (False, None)]
    names = catalogs(workspace)
    if catalog or given:
        names = [catalog if catalog and is_url(catalog) else catalog_to_change(catalog, workspace)]
    if len(given) > 1:
        raise SettingsInvalid(f"{' and '.join(given)} cannot be combined: give one")
    if snapshot and not (pin or sign):
        raise SettingsInvalid(
            f"{snapshot!r} is one argument too many: only --pin and --sign take a snapshot after the catalog"
        )
    if given:
        decide(workspace, names[0], given[0], use or release or snapshot, sign_key=sign_key, unsigned=unsigned)
    if not show_snapshots(workspace, names, verify=verify, as_json=as_json):
        raise typer.Exit(4)


_Ids = list[str] | None
_Address = Annotated[str, typer.Argument(metavar="URL", help="The catalog's address: s3://, gs://, az:// or file://.")]


def quarantine(
    catalog: Annotated[str | None, typer.Argument(help="A catalog of the workspace.")] = None,
    workspace: Workspace = WORKSPACE,
    release: Annotated[
        _Ids, typer.Option(metavar="ID", help="Let this tool serve from the next build on; may be given again.")
    ] = None,
    hold: Annotated[
        _Ids, typer.Option(metavar="ID", help="Take back the release of this tool; may be given again.")
    ] = None,
    wait: Annotated[float, "Seconds to wait for a build of the workspace to end."] = 0.0,
    as_json: JsonOutput = False,
) -> None:
    """List the single tools that builds hold back, or release them.

    Such a tool would enter the first five of requests that its name and first sentence do not fit. A new one is left
    out, a changed one is found by what it was. A released tool is checked again when it changes.
    """
    from quartermaster.output.ledger import decide_quarantine, show_quarantine

    name = catalog_to_change(catalog, workspace)
    if both := set(release or ()) & set(hold or ()):
        raise SettingsInvalid(f"{sorted(both)[0]!r} is to be released and held: give one")
    if release or hold:
        decide_quarantine(workspace, name, release or [], hold or [], wait)
    show_quarantine(workspace, name, as_json=as_json)


def push(
    source: Annotated[
        str, typer.Argument(help="A catalog of the workspace, or the folder of a catalog or of one snapshot.")
    ],
    to: _Address,
    workspace: Workspace = WORKSPACE,
    resend: Annotated[bool, "Send every file, whatever the bucket has: mends damaged ones."] = False,
    as_json: JsonOutput = False,
) -> None:
    """Publish a snapshot in a bucket. It is a catalog's current one, or that of a folder.

    The snapshot is verified, its files are sent as far as the bucket lacks them, and it serves there. It is stored and
    does not serve where a gate held it, where the bucket has a pin or a rollback from its content, and where a newer
    one serves: `quartermaster snapshots URL --use ID` goes back. Then the exit code is 1.

    Credentials come from the environment, such as AWS_ACCESS_KEY_ID, never from the address. A push that was broken off
    goes on where it was.

    \b
    quartermaster push demo s3://bucket/catalogs/demo
    """
    from quartermaster.output.buckets import push_and_show

    if not push_and_show(workspace, source, to, resend=resend, as_json=as_json):
        raise typer.Exit(1)


def pull(
    url: _Address,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]", help="The catalog's folder; by default snapshots/<catalog> of the workspace."
        ),
    ] = None,
    workspace: Annotated[Path | None, f"The workspace to pull into; by default {WORKSPACE}."] = None,
    cache_dir: CacheDir = None,
    trusted_keys: TrustedKeys = None,
    trust_state: TrustState = None,
    as_json: JsonOutput = False,
) -> None:
    """Fetch a bucket's current snapshot, and serve it from here.

    Only files that this machine lacks are fetched, and each is checked against its sha256. A pull that was broken off
    goes on where it was. Damaged files are replaced. Servers and `Router.open` take the address itself, and need no
    pull: with --cache-dir, the snapshot is there before they start.

    Credentials come from the environment, such as AWS_ACCESS_KEY_ID, never from the address. The exit code is 1 where
    a catalog that was built here has a pin, so that another snapshot goes on serving there; 3 where the bucket does not
    answer.

    \b
    quartermaster pull s3://bucket/catalogs/demo && quartermaster search "refund a customer"
    quartermaster pull s3://bucket/catalogs/demo --cache-dir /var/cache/quartermaster
    """
    from quartermaster.output.buckets import pull_and_show
    from router.store import cache_place, catalog_of, checked_url

    checked_url(url)
    is_cache = folder is None and workspace is None and cache_dir is not None
    named = folder or (workspace or WORKSPACE) / "snapshots" / catalog_of(url.rstrip("/"))
    target = (cache_place(url, cache_dir) if is_cache else named).absolute()
    keys = required_keys(trusted_keys)
    if not pull_and_show(url, target, keys, trust_state, is_cache=is_cache, as_json=as_json):
        raise typer.Exit(1)
