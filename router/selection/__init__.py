"""Filters on tools, and the combined score that thresholds and orders the candidates.

`settings` is the Selection that users write. `admission` filters tools before the search, `filtering` the candidates
after it, by the scores of `relevance`. `profile` is a selection that its caller cannot leave.
"""
