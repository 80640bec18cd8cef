"""tokens: makes bearer tokens for the file of profiles."""

from typing import Annotated

import typer

tokens = typer.Typer(
    help="""Make tokens for the callers of a server, for its file of profiles.

    \b
    quartermaster tokens new alice --profile support >> profiles.toml""",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@tokens.callback()
def _tokens() -> None:
    pass


@tokens.command()
def new(
    name: Annotated[str, typer.Argument(help="What logs call it.")] = "NAME",
    profile: Annotated[str, typer.Option(help="The profile that it gets.")] = "PROFILE",
) -> None:
    """Print a new random token to standard error, this once, and its lines for the file to standard output."""
    import json

    from quartermaster.serving.tokens import new_token, token_digest

    token = new_token()
    typer.echo(f"The token, which is stored nowhere: {token}", err=True)
    typer.echo(
        f"[tokens.{json.dumps(name)}]\nprofile = {json.dumps(profile)}\nsha256 = {json.dumps(token_digest(token))}"
    )
