"""The opened snapshot, with everything that a search reads.

`snapshot` opens one from a folder with `loading`; `record_store` reads its records and `facets` what filters compare.
`cached_encoder` keeps the vectors of recent requests. `store/` holds a catalog's snapshots, `reloading` follows what it
publishes, `overlay/` lays tools over a snapshot at run time, and `memory/` makes a snapshot of tools without a build.
"""
