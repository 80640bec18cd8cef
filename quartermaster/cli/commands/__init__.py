"""The commands. Each parses its options, calls the build or the router, and shows the result.

`arguments` declares the options that commands share, `benches` prepares judged requests for evaluate and compare,
`upstreams` finds the MCP servers for serve. Heavy modules are imported late, so that help and search stay fast.
"""
