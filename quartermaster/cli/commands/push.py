"""push: publishes a snapshot of this machine in a bucket."""

from typing import Annotated

import typer

from quartermaster.cli.commands.arguments import WORKSPACE, JsonOutput, Workspace


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
    from quartermaster.output.pushing import push_and_tell

    if not push_and_tell(workspace, source, to, resend=resend, as_json=as_json):
        raise typer.Exit(1)
