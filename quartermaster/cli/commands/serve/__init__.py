"""serve: the router behind HTTP or MCP, until it is stopped.

`http` and `mcp` are the commands, `options` what both take.
"""

import typer

from quartermaster.cli.commands.serve.http import http
from quartermaster.cli.commands.serve.mcp import mcp

serve = typer.Typer(
    help="""Serve the router to programs, and to people who want to look.

    \b
    quartermaster serve http                     HTTP with JSON, and a page at /, on this machine only
    quartermaster serve http --port 0            at a free port; the address is printed
    quartermaster serve mcp                      MCP over stdio, as clients start it; --http over HTTP at /mcp""",
    no_args_is_help=True,
    rich_markup_mode=None,
)
serve.command()(http)
serve.command()(mcp)
