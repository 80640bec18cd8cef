"""The prerequisite graph: which tool must run first, since it finds what another needs and nobody says.

`needs` reads what a tool needs, `offers` what a tool finds, `matching` puts the two together within a provider.
"""

from router.tools.prerequisites.matching import Evidence, Prerequisite, find_prerequisites
from router.tools.prerequisites.needs import Need, NeedKind, find_needs

# Raise it with what changes the edges of the same records: it is in the content hash of every snapshot.
PREREQUISITES_VERSION = 1

__all__ = [
    "PREREQUISITES_VERSION",
    "Evidence",
    "Need",
    "NeedKind",
    "Prerequisite",
    "find_needs",
    "find_prerequisites",
]
