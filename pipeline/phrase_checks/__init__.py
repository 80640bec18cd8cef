"""Decide which texts that models wrote for a tool may be kept.

`screen` applies `checks` of each text against the tool's own record and the `names` of the catalog, without an index or
a model; to add a check, write a function `(RecordContext, CheckedText) -> Finding | None` in `checks`, put it into
`CHECKS` and raise `SCREEN_VERSION`. The checks know orders, promotion and ill report by their usual words only.

`assessment` holds phrases against the whole catalog, by `vectors`: does each bring its own tool back, and which tools
collide? `comparison` keeps what was compared for the next build. `steering` holds what was written against what a
record says of its tool, to find remarks that steered the model, by their `echoes`; `subject` divides a record into
subject and remarks.
`foreign` finds what fits another source's tool and nothing of its own, and `identity` the names and labels that claim
to be another source's.

Thresholds are in `AssessmentSettings`; docs/decisions/phrase-checks.md has how they were measured. Detectors that the
router needs too (prompt injection, hidden characters) are in `router/tools/trust`.
"""
