"""The build: sources → records → expansions → documents → vectors → snapshot.

`run` holds `build`, `notifier` tells how it ended. `driver` holds the order of the stages; `reading`, `expanding`,
`identifying`, `writing` and `publishing` carry them out; `context` is what they share, `state` what each leaves.
`enriching` and `learning` are their steps, `stages` the functions of plain data that an `Execution` may
run in another process. `plan` says what a build would cost, `report` what it did.
"""

from pipeline.build.notifier import failures_announced
from pipeline.build.run import build

__all__ = ["build", "failures_announced"]
