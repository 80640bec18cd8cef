"""The build: sources → records → expansions → documents → vectors → snapshot.

`run` holds `build`, `announced` tells how it ended; `driver` the order of the stages, `state` what each leaves;
`enriching`, `screening` and `learning` their steps; `stages` the functions of plain data that an `Execution` may run in
another process. `plan` says what a build would cost, `report` what it did.
"""

from pipeline.build.announced import failures_announced
from pipeline.build.run import build

__all__ = ["build", "failures_announced"]
