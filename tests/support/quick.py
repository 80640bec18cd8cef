"""Settings of builds in tests that are about neither vectors, calibration nor copies of the ledger."""

from typing import Any

# A build of thirty tools takes 0.3 s of CPU with them, and 0.9 s without.
QUICK: dict[str, dict[str, Any]] = {
    "vectors": {"encoder": "none"},
    "tuning": {"calibrate": False},
    "ledger": {"backups": 0},
}
