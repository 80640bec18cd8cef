"""Filters on tools, and the combined score that thresholds and orders the candidates.

`settings` is the Selection that users write. `admission` filters tools before the search, `filtering` the candidates
after it, by the scores of `relevance`. `profile` is a selection that its caller cannot leave, and `restricted` the
snapshot that it leaves to them.
"""

from typing import TYPE_CHECKING

from router.lazy_exports import lazy_exports
from router.selection.admission import Admission, admit
from router.selection.filtering import FilteredCandidates, filter_candidates
from router.selection.settings import Selection, Weights
from router.snapshot.facets import Facets

if TYPE_CHECKING:
    from router.selection.profile import Profile, ProfileSnapshot
else:
    __getattr__, __dir__ = lazy_exports(__name__, {"router.selection.profile": "Profile ProfileSnapshot"})

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
