"""A catalog's snapshots in a bucket: S3, Google Cloud Storage, Azure, or a folder, by obstore.

`url` tells an address from a path, `connecting` finds credentials, `objects` reads and writes objects, `layout` names
them, `head` is what CURRENT holds, and `remote` reads the catalog that they make.

Writing: `store` is what builds and operators write to, over `cached_catalog`. `transactions` change CURRENT,
`uploading` and `signatures` send a snapshot, `pushing` publishes one that lies in a folder, `sweeping` removes what is
old, and `origin` lets the cache say what the bucket says. See docs/decisions/0087-snapshots-in-a-bucket.md and
docs/decisions/0093-retention-in-a-bucket.md.

Reading: `reader` is what routers follow. `pulling`, `downloading` and `daemons` fetch into the folder that `cache`
keeps.
"""
