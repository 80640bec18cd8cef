"""Filters on tools, and the combined score that thresholds and orders the candidates.

`settings` is the Selection that users write. `admission` filters tools before the search, `filtering` the candidates
after it, by the scores of `relevance`. `profile` is a selection that its caller cannot leave, and `restricted` the
snapshot that it leaves to them.
"""

from router.selection.admission import Admission, admit
from router.selection.filtering import FilteredCandidates, filter_candidates
from router.selection.profile import Profile
from router.selection.restricted import ProfileSnapshot
from router.selection.settings import Selection, Weights
from router.snapshot.facets import Facets

__all__ = [
    "Admission",
    "Facets",
    "FilteredCandidates",
    "Profile",
    "ProfileSnapshot",
    "Selection",
    "Weights",
    "admit",
    "filter_candidates",
]
