"""Check what was written for a tool against its own record and the names of its catalog. No index, no model.

`screen` applies the checks to an expansion; `context` is what a check may know; `links`, `names` and `operations`
detect. To add a check, write a function `(RecordContext, CheckedText) -> Finding |
None` in `checks` and put it into `CHECKS`, where the first finding wins; then raise `SCREEN_VERSION`.
The checks know orders, promotion and ill report by their usual words only: see docs/decisions/phrase-checks.md.
"""

from pipeline.phrase_checks.record.checks import SCREEN_VERSION
from pipeline.phrase_checks.record.screen import LISTS, Screen

__all__ = ["LISTS", "SCREEN_VERSION", "Screen"]
