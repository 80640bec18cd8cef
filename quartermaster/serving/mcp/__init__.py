"""The router as an MCP server: find_tools, describe_tool, and call_tool at the tools' own servers.

Needs the extra `serve`.

    >>> from router import Router
    >>> from quartermaster.serving.mcp import Upstream, serve_stdio, server
    >>> git = Upstream("git", command=("mcp-server-git",), provider="git")
    >>> serve_stdio(server(Router.open(".quartermaster/snapshots/mcp", watch=5), [git]))

`server` joins `tools` (the three tools) with `definitions` and `results`, and `upstreams` with one `connection` and
`session` each; `client` is who calls. `stdio` and `http` are its transports; `http.http_app` is an app at `/mcp`.
Upstreams are called by the SDK's own client: FastMCP's proxy bounds no message, and passes on no question of a server
that the SDK runs over stdio.
"""

from quartermaster.serving.mcp.server import server
from quartermaster.serving.mcp.stdio import serve_stdio
from quartermaster.serving.mcp.upstream import Upstream, UpstreamFailed
from quartermaster.serving.mcp.upstreams import Upstreams, connected, list_tools

__all__ = ["Upstream", "UpstreamFailed", "Upstreams", "connected", "list_tools", "serve_stdio", "server"]
