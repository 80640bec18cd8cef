"""The build: sources → records → expansions → documents → vectors → snapshot.

`run` holds `build` and the order of the stages; `enriching`, `screening`, `learning` and `state` hold their steps;
`stages` holds the functions of plain data that an `Execution` may run in another process; `plan` says what a build
would cost, `report` what it did.
"""

from pipeline.build.run import build

__all__ = ["build"]
