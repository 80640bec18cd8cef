"""keys and tokens: who may sign snapshots, and who may ask a server."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from quartermaster.cli.commands.options import (
    TRUSTED_KEYS_VARIABLE,
    App,
    CacheDir,
    TrustedKeys,
    cache_for,
    required_keys,
)
from quartermaster.output.terminal import print_out

keys = App(
    """Make and show the keys that sign snapshots.

    A build signs with the private key; routers check with the public key, which is not secret.

    \b
    quartermaster keys generate build.pem         writes build.pem, which stays secret, and build.pem.pub
    [publish] sign_key = "build.pem"              in catalog.toml: builds sign what they write
    quartermaster serve http --catalog demo --trusted-keys build.pem.pub

    To change a key without a pause: trust both keys everywhere, sign with the new one, then trust only that."""
)


@keys.add
def generate(
    file: Annotated[Path, typer.Argument(help="Where the private key goes; the public key goes to FILE.pub.")],
) -> None:
    """Make a key pair, and print the public key and its id.

    The private key is in PEM, readable only by you, and encrypted where QUARTERMASTER_KEY_PASSPHRASE holds a
    passphrase. A file that is there already is never overwritten.
    """
    from pipeline.store import private_keys

    public = private_keys.generate(file).public
    typer.echo(f"{public.text} {public.key_id}")


@keys.add
def show(
    key: Annotated[str, typer.Argument(metavar="KEY", help="A private key's file, or ${NAME} of a variable.")],
) -> None:
    """Print the public key of a private one, and its id."""
    from pipeline.store.private_keys import read_signer

    public = read_signer(key).public
    typer.echo(f"{public.text} {public.key_id}")


def list_keys(
    sources: Annotated[list[str], typer.Argument(metavar="KEYS…", help="Public keys, and files of keys.")],
) -> None:
    """List trusted keys with their ids. Says which ones count no more."""
    from router.signing import trusted_keys

    now = datetime.now(UTC)
    for key in trusted_keys.TrustedKeys(sources).read():
        state = key.problem(now) or "trusted"
        print_out(f"{key.public.key_id}  {key.public.text}  {state}" + (f"  {key.name}" if key.name else ""))


keys.add(list_keys, "list")


@keys.add
def verify(
    snapshot: Annotated[str, typer.Argument(help="A snapshot's folder, a catalog's folder, or a catalog's address.")],
    trusted_keys: TrustedKeys = None,
    catalog: Annotated[str | None, "The catalog's name; by default that of the catalog's folder."] = None,
    cache_dir: CacheDir = None,
) -> None:
    """Verify a snapshot as a router with these keys does. Checks its signature, and every file.

    Whether it is older than what some router served is not checked: that router knows.
    """
    from pipeline.store import signing_keys
    from router.errors import SettingsInvalid
    from router.snapshot.trust import Trust, open_signed
    from router.store import current_folder, open_store

    trusted = required_keys(trusted_keys)
    if trusted is None:
        raise SettingsInvalid(f"name the keys: --trusted-keys KEY, or {TRUSTED_KEYS_VARIABLE}")
    store = open_store(snapshot, cache_for(snapshot, cache_dir))
    trust = Trust.of(store, trusted, catalog)
    assert trust is not None
    folder = current_folder(store)
    name = open_signed(folder, trust).manifest.snapshot
    by = ", ".join(signing_keys(folder)) or "its pointer"
    print_out(f"{name} of {trust.catalog} is signed ({by}), and every file is as its manifest says")


tokens = App(
    """Make tokens for the callers of a server. Their lines go into its file of profiles.

    \b
    quartermaster tokens new alice --profile support >> profiles.toml"""
)


@tokens.callback()
def _tokens() -> None:
    pass


@tokens.add
def new(
    name: Annotated[str, typer.Argument(help="What logs call it.")] = "NAME",
    profile: Annotated[str, "The profile that it gets."] = "PROFILE",
) -> None:
    """Print a new random token. It goes to standard error, this once, and its lines for the file to standard output."""
    import json

    from quartermaster.serving.tokens import new_token, token_digest

    token = new_token()
    typer.echo(f"The token, which is stored nowhere: {token}", err=True)
    typer.echo(
        f"[tokens.{json.dumps(name)}]\nprofile = {json.dumps(profile)}\nsha256 = {json.dumps(token_digest(token))}"
    )
