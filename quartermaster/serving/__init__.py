"""The router behind a protocol: `http`, the web `page` on it, and `mcp`. Each needs the extra `serve`.

`profiles` says what each caller may see; `tokens` and `rate_limit` are what it goes by. `options` are those of a route.
This file holds the HTTP status of an error.
"""

from router.errors import NothingSelected, QuartermasterError, SettingsInvalid, SnapshotInvalid


def status_of(error: QuartermasterError) -> int:
    """Return 422 for an invalid request, 404 if no tool is left, 503 if no snapshot serves, else 500."""
    if isinstance(error, SettingsInvalid):
        return 422
    if isinstance(error, NothingSelected):
        return 404
    return 503 if isinstance(error, SnapshotInvalid) else 500
