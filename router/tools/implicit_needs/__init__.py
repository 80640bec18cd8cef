"""Implicit needs: what a request takes beside the tools that it describes, such as writing "to report.md".

`need` names them and says how a tool that meets one is asked for; `schemas` says what arguments such a tool takes.
"""

from router.tools.implicit_needs.need import (
    IMPLICIT_NEEDS_VERSION,
    PHRASES,
    ImplicitNeed,
    fits_schema,
    meets_in_words,
    requires_date,
)

__all__ = ["IMPLICIT_NEEDS_VERSION", "PHRASES", "ImplicitNeed", "fits_schema", "meets_in_words", "requires_date"]
