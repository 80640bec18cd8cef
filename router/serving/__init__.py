"""The router behind a protocol: `http` with `page` to look with, `mcp`. Extras, imported only by who serves."""
