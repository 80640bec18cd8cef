"""Everything → snapshot: written, opened as the router opens it, gated, published, retained.

`snapshot_writing` writes a snapshot: `served_files` the files that the router maps into memory, `snapshot_learning`
what can be learned only from a written snapshot. `quality_gate` (shares of what failed), `removal_gate` (tools that
a source no longer gives), `lost_phrases_gate` (tools that fall to the lexicon), `regression_gate` (judged requests) and
`missing_tools` (tools lost with a source that was skipped) say why a snapshot must not serve yet.
"""

from pipeline.publish.quality_gate import use_command
from pipeline.publish.regression_gate import NOT_MEASURED, RegressionCheck, check_regression
from pipeline.publish.snapshot_writing import VERSIONS, SnapshotContents, WritingContext, serving_folder, write_snapshot
from pipeline.store import SnapshotStore
from router.store import Stored

__all__ = [
    "NOT_MEASURED",
    "VERSIONS",
    "RegressionCheck",
    "SnapshotContents",
    "SnapshotStore",
    "Stored",
    "WritingContext",
    "check_regression",
    "serving_folder",
    "use_command",
    "write_snapshot",
]
