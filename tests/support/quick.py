"""Settings of builds in tests that are about neither vectors, calibration nor copies of the ledger."""

from typing import Any

# With them a build of thirty tools takes about 0.5 s of CPU; with the defaults it takes 0.8 s.
QUICK: dict[str, dict[str, Any]] = {
    "vectors": {"encoder": "none"},
    "tuning": {"calibrate": False},
    "ledger": {"backups": 0},
}
