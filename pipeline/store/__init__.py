"""Stores that builds and operators write to: snapshots in a folder or a bucket, and which of them is current.

`local` is a store in a folder, `bucket` one at an address, `protocol` what a build needs of either; `router.store` is
the reading side. `decisions` are an operator's (pin, roll back, release), `publication` a build's; `serviceable`
says which snapshots may serve, and which may be removed: for any store. `signing` signs snapshots with the keys that
`private_keys` reads. `deltas` keeps the databases of old snapshots small.
"""

from pipeline.store import decisions, publication
from pipeline.store.disk import catalogs, disk_size, last_built, share_unchanged
from pipeline.store.local import SnapshotStore
from pipeline.store.protocol import SharedStore, WritableStore
from pipeline.store.serviceable import removable
from pipeline.store.signing import Signing, sign_manifest, sign_snapshot, signing_keys

__all__ = [
    "SharedStore",
    "Signing",
    "SnapshotStore",
    "WritableStore",
    "catalogs",
    "decisions",
    "disk_size",
    "last_built",
    "publication",
    "removable",
    "share_unchanged",
    "sign_manifest",
    "sign_snapshot",
    "signing_keys",
]
