"""Which tools a request may have, and which of those found it gets: filters, and the combined score."""

from router.selection.admission import Admission, admit
from router.selection.facets import Facets
from router.selection.filtering import Filtered, filtered
from router.selection.settings import Selection, Weights

__all__ = ["Admission", "Facets", "Filtered", "Selection", "Weights", "admit", "filtered"]
