"""login: a person's token for a catalog's remote MCP servers, stored for the builds that come."""

from pathlib import Path
from typing import Annotated, Optional

import typer


def login(
    path: Annotated[Path, typer.Argument(help="The catalog's folder.")],
    source: Annotated[
        Optional[int], typer.Option(help="Which [[source]], from 1; without it all that have oauth for a person.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the address in a browser; it is printed in any case.")] = True,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Of the redirect to this machine; 0 for any.")] = 0,
) -> None:
    """Log in to the MCP servers of a catalog whose sources have oauth, once for all later builds.

    The token is stored in a file of the user's own (~/.config/quartermaster/tokens), and refreshed by the builds. A
    build itself never asks a person. Sources with a client_secret need no login.
    """
    import webbrowser

    from flows.output.screen import err, plain
    from pipeline.errors import SettingsInvalid
    from pipeline.settings import load
    from pipeline.sources.naming import location
    from pipeline.sources.transport.login import log_in

    settings = load(path)
    numbered = list(enumerate(settings.source, 1))
    chosen = [
        one for number, one in numbered if one.oauth and not one.oauth.by_credentials and source in (None, number)
    ]
    if not chosen:
        which = "no source" if source is None else f"source {source} is none that"
        raise SettingsInvalid(f"{path}: {which} has oauth for a person to log in: write [source.oauth] below its url")

    def show(address: str) -> None:
        err.print("Log in at this address:", markup=False)
        err.print(plain(address), soft_wrap=True)
        if browser:
            webbrowser.open(address)

    for one in chosen:
        err.print(plain(f"Logging in to {location(one)}"), soft_wrap=True)
        file, tools = log_in(one, settings.folder, show=show, port=port)
        listed = f"{tools:,} {'tool' if tools == 1 else 'tools'}"
        err.print(plain(f"{listed}; the token is stored in {file}"), soft_wrap=True)
