"""Everything → snapshot: written, opened as the router opens it, and gated.

`snapshot_writing` writes a snapshot: `served_files` the files that the router maps into memory, `snapshot_learning`
what can be learned only from a written snapshot. `gates`, `regression_gate` (judged requests) and `quarantine` (single
tools) say why something must not serve yet.
"""

from pipeline.publish.gates import use_command
from pipeline.publish.regression_gate import NOT_MEASURED, RegressionCheck, check_regression
from pipeline.publish.snapshot_writing import VERSIONS, write_snapshot

__all__ = ["NOT_MEASURED", "VERSIONS", "RegressionCheck", "check_regression", "use_command", "write_snapshot"]
