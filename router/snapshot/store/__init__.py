"""Where a catalog's snapshots are kept, and which of them is current: the reading side. `pipeline.store` writes.

`protocol` says what the router reads of a store, `path` reads a path that a user gives, `folder` a catalog's folder,
`bucket` a catalog in a bucket. `pointer` is the one place that finds the current snapshot on disk, `state` what a store
remembers. `durable` writes files that outlast a power loss, `locking` locks them.
Import them from `router.store`; this package imports nothing, for `router.snapshot.snapshot` needs `pointer`.
"""
