"""Get the documents of sources: from a command's output, a URL or a live MCP server, with the access that they need.

`fetch` gives what commands print and URLs hold as files, `pages` all that a server declares, `mcp_client` asks live
servers. `http` is the way to all servers: it says where a request may lead, how long it may take and how much may come
back, and `answers` what came. `access` fills in secrets, `approval` knows what a user has allowed. `oauth` proves who
asks, with a token that `login` obtains and `token_file` stores.
"""
