"""Filters on tools, and the combined score that thresholds and orders the candidates.

`settings` is the Selection that users write. `admission` filters tools before the search, `filtering` the candidates
after it, by the scores of `relevance`.
"""

from router.selection.admission import Admission, admit
from router.selection.filtering import FilteredCandidates, filter_candidates
from router.selection.settings import Selection, Weights
from router.snapshot.facets import Facets

__all__ = ["Admission", "Facets", "FilteredCandidates", "Selection", "Weights", "admit", "filter_candidates"]
