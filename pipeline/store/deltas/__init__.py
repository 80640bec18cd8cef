"""Keep the `catalog.duckdb` of snapshots that do not serve as deltas: docs/decisions/store.md.

Call `databases`, which keeps those of a catalog's snapshots. `reading` opens a database whole or as a delta, and
`delta_file` is one delta. No router reads `catalog.duckdb`, so nothing here touches what answers requests.
"""
