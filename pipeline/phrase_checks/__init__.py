"""Decide which texts that models wrote for a tool may be kept.

`record/` checks each text against the tool's own record, without an index; a check is one function and one line in
`record/checks.py: CHECKS`. `catalog/` checks phrases against the whole catalog, by vectors. Detectors that read a text
alone, and that the router needs too (steering text, hidden characters), are in `router/tools/trust`.
"""
