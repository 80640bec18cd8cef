"""The build: sources → records → expansions → documents → vectors → snapshot.

`run` holds `build`, which calls the stages in order, each with the context and the state of `pipeline.build_state`:
`reading`, `expanding` (with `enriching` and `assessing`), `quarantining`, `identifying`, `writing`, `publishing`.
`report` says what a build did, `notifier` announces how it ended, `plan` foresees what one would cost.
"""

from pipeline.build.notifier import failures_announced
from pipeline.build.run import build

__all__ = ["build", "failures_announced"]
