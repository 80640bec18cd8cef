"""Names of snapshots, and of the files that lie beside them in a catalog's folder."""

from router.contract import CURRENT, POINTER_SIGNATURE
from router.files import name_problem

STATE = "state.json"
ORIGIN = "bucket"
"""The file that holds the address of the bucket whose cache a folder is."""

_BESIDE = (CURRENT, POINTER_SIGNATURE, STATE, ORIGIN)


def is_snapshot_name(name: str) -> bool:
    """Return whether a snapshot may have a name: of one folder, neither hidden nor in the place of another file."""
    return not name_problem(name) and "/" not in name and not name.startswith(".") and name not in _BESIDE
