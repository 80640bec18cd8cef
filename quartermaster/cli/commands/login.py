"""login: gets a person's token for a catalog's remote MCP servers, and stores it for later builds."""

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

    from pipeline.errors import SettingsInvalid
    from pipeline.settings import load
    from pipeline.sources.naming import location
    from pipeline.sources.transport.login import log_in
    from quartermaster.output.terminal import err, say

    catalog = load(path)
    numbered = list(enumerate(catalog.source, 1))
    sources = [
        settings
        for number, settings in numbered
        if settings.oauth and not settings.oauth.by_credentials and source in (None, number)
    ]
    if not sources:
        which = "no source" if source is None else f"source {source} is none that"
        raise SettingsInvalid(f"{path}: {which} has oauth for a person to log in: write [source.oauth] below its url")

    def show(address: str) -> None:
        err.print("Log in at this address:", markup=False)
        say(address)
        if browser:
            webbrowser.open(address)

    for settings in sources:
        say(f"Logging in to {location(settings)}")
        file, tools = log_in(settings, catalog.folder, show=show, port=port)
        count = f"{tools:,} {'tool' if tools == 1 else 'tools'}"
        say(f"{count}; the token is stored in {file}")
