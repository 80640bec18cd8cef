"""Where a catalog's snapshots are kept, and which of them is current.

`protocol` says what the router reads of a store and what a build writes to it. `local` is a store in a folder, `path`
the reading side of a path that a user gives, and `pointer` the one place that finds the current snapshot on disk.
Import them from `router.store`; this package imports nothing, for `router.snapshot.snapshot` needs `pointer`.
"""
