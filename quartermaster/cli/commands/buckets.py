"""push and pull: a snapshot between this machine and a bucket."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from quartermaster.cli.commands.arguments import (
    WORKSPACE,
    CacheDir,
    JsonOutput,
    TrustedKeys,
    TrustStateFile,
    Workspace,
    required_keys,
)


def push(
    source: Annotated[
        str, typer.Argument(help="A catalog of the workspace, or the folder of a catalog or of one snapshot.")
    ],
    to: Annotated[str, typer.Argument(metavar="URL", help="The catalog's address: s3://, gs://, az:// or file://.")],
    workspace: Workspace = WORKSPACE,
    resend: Annotated[
        bool, typer.Option("--resend", help="Send every file, whatever the bucket has: mends damaged ones.")
    ] = False,
    as_json: JsonOutput = False,
) -> None:
    """Publish a catalog's current snapshot, or the snapshot of a folder, in a bucket.

    The snapshot is verified, its files are sent as far as the bucket lacks them, and it serves there. It is stored and
    does not serve where a gate held it, where the bucket has a pin or a rollback from its content, and where a newer
    one serves: `quartermaster snapshots URL --use ID` goes back. Then the exit code is 1.

    Credentials come from the environment, such as AWS_ACCESS_KEY_ID, never from the address. A push that was broken off
    goes on where it was.

    \b
    quartermaster push demo s3://bucket/catalogs/demo
    """
    from quartermaster.output.buckets import push_and_tell

    if not push_and_tell(workspace, source, to, resend=resend, as_json=as_json):
        raise typer.Exit(1)


def pull(
    url: Annotated[str, typer.Argument(metavar="URL", help="The catalog's address: s3://, gs://, az:// or file://.")],
    folder: Annotated[
        Optional[Path],
        typer.Argument(
            metavar="[FOLDER]", help="The catalog's folder; by default snapshots/<catalog> of the workspace."
        ),
    ] = None,
    workspace: Annotated[
        Optional[Path], typer.Option(help=f"The workspace to pull into; by default {WORKSPACE}.")
    ] = None,
    cache_dir: CacheDir = None,
    trusted_keys: TrustedKeys = None,
    trust_state: TrustStateFile = None,
    as_json: JsonOutput = False,
) -> None:
    """Fetch a bucket's current snapshot, verify it, and serve it from here.

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
    from quartermaster.output.buckets import pull_and_tell
    from router.store import cache_place, catalog_of, checked_url

    checked_url(url)
    is_cache = folder is None and workspace is None and cache_dir is not None
    if is_cache:
        target = cache_place(url, cache_dir)
    else:
        target = folder or (workspace or WORKSPACE) / "snapshots" / catalog_of(url.rstrip("/"))
    if not pull_and_tell(
        url, target.absolute(), required_keys(trusted_keys), trust_state, is_cache=is_cache, as_json=as_json
    ):
        raise typer.Exit(1)
