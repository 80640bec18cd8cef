"""Which tools a request may have, and which of those found it gets: filters, and the combined score."""

from router.selection.admission import Admission, admit
from router.selection.filtering import FilteredCandidates, filter_candidates
from router.selection.settings import Selection, Weights
from router.snapshot.facets import Facets

__all__ = ["Admission", "Facets", "FilteredCandidates", "Selection", "Weights", "admit", "filter_candidates"]
