"""The prerequisite graph: which tool must run first, since it finds what another needs and nobody says.

`kinds` are those of needs, `needs` reads what a tool needs, `offers` what it finds, `statements` what the model says of
both; `resolving` compares two tools, and `matching` those of a whole catalog.
"""

from typing import TYPE_CHECKING

from router.lazy_exports import lazy_exports
from router.tools.prerequisites.nouns import NeedKind

if TYPE_CHECKING:
    from router.tools.prerequisites.matching import PREREQUISITES_VERSION, Prerequisite, find_prerequisites
    from router.tools.prerequisites.needs import Need, find_needs
    from router.tools.prerequisites.resolving import Evidence
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "router.tools.prerequisites.matching": "PREREQUISITES_VERSION Prerequisite find_prerequisites",
            "router.tools.prerequisites.needs": "Need find_needs",
            "router.tools.prerequisites.resolving": "Evidence",
        },
    )

__all__ = [
    "PREREQUISITES_VERSION",
    "Evidence",
    "Need",
    "NeedKind",
    "Prerequisite",
    "find_needs",
    "find_prerequisites",
]
