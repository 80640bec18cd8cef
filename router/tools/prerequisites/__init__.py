"""The prerequisite graph: which tool must run first, since it finds what another needs and nobody says.

`needs` reads what a tool needs, `offers` what it finds, `statements` what the model says of both; `resolving` compares
two tools, and `matching` those of a whole catalog.
"""

from router.tools.prerequisites.matching import PREREQUISITES_VERSION, Prerequisite, find_prerequisites
from router.tools.prerequisites.needs import Need, NeedKind, find_needs
from router.tools.prerequisites.resolving import Evidence

__all__ = [
    "PREREQUISITES_VERSION",
    "Evidence",
    "Need",
    "NeedKind",
    "Prerequisite",
    "find_needs",
    "find_prerequisites",
]
