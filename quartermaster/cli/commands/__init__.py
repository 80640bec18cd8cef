"""The commands. Each parses its options, calls the build or the router, and shows the result.

`options` declares the options that commands share, `benches` prepares queries with qrels for evaluate and compare,
`sources` asks before a catalog's commands run. Heavy modules are imported late, so that help and search stay fast.
"""
