"""Get the documents of sources: from a command's output, a URL or a live MCP server, with the access that they need.

`fetch` gives commands (`commands`) and URLs (`web`) as files, `mcp_client` asks live servers by `mcp_stdio` and
`mcp_http`. `http_session` sets the deadline of a request, `addresses` says where it may lead, `allowance` how much a
live server may say; `access` fills in secrets. `oauth` proves who asks, with a token that `login` obtains and
`token_file` stores.
"""
