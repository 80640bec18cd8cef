"""The HTTP status of an error of the router's."""

from router.errors import NothingSelected, QuartermasterError, SettingsInvalid, SnapshotInvalid


def status_of(error: QuartermasterError) -> int:
    """422 for what was asked wrong, 404 where no tool is left, 503 where no snapshot serves; else 500."""
    if isinstance(error, SettingsInvalid):
        return 422
    if isinstance(error, NothingSelected):
        return 404
    return 503 if isinstance(error, SnapshotInvalid) else 500
