"""Writes a catalog's snapshots to a bucket. `router.snapshot.store.bucket` is the reading side, and names the objects.

`store` is what builds and operators write to, over `cached_catalog`. `transactions` change the object CURRENT,
`uploading` sends a snapshot and its signatures, and `sweeping` removes what is old. See docs/decisions/buckets.md.
"""
