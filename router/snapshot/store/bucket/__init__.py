"""A catalog's snapshots in a bucket: S3, Google Cloud Storage, Azure, or a folder, by obstore.

`url` tells an address from a path, `connecting` finds credentials, `objects` reads and writes objects, `layout` names
them, `head` is what CURRENT holds, and `remote` reads the catalog that they make.

`reader` is what routers follow. `pulling`, `downloading` and `daemons` fetch into the folder that `cache` keeps, and
`origin` lets that folder say what the bucket says. `pipeline.store.bucket` writes.
"""
