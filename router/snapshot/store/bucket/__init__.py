"""A catalog's snapshots in a bucket: S3, Google Cloud Storage, Azure, or a folder, by obstore.

`url` tells an address from a path, `objects` reads and writes objects, `layout` names them, `head` is what CURRENT
holds. See docs/decisions/0087-snapshots-in-a-bucket.md.
"""
