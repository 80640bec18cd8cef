"""Where a catalog's snapshots are kept, and which of them is current.

`protocol` says what the router reads of a store and what a build writes to it. `local` is a store in a folder,
`workspace` lists the catalogs of a workspace, `path` is the reading side of a path that a user gives, and `pointer` the
one place that finds the current snapshot on disk. `state` is what a store remembers, `decisions` are those of an
operator (pin, roll back, release), `serviceable` says which snapshots may serve, and `retention` which may be removed:
all four for any store. `durable` writes files that outlast a power loss, `locking` locks them.
Import them from `router.store`; this package imports nothing, for `router.snapshot.snapshot` needs `pointer`.
"""
