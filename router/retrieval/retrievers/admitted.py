"""The tools that a request may find: what filters leave of a catalog, before any list is cut."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Admitted:
    """`mask` bool (tools,), by ordinal. Lists are cut to their depth after it, so that a filter that leaves three tools
    of ten thousand still finds the three.
    """

    mask: NDArray[np.bool_]

    @cached_property
    def ordinals(self) -> NDArray[np.int64]:
        """The admitted tools, rising."""
        return np.flatnonzero(self.mask)

    @cached_property
    def share(self) -> float:
        """The admitted share of the catalog."""
        return len(self.ordinals) / max(len(self.mask), 1)

    def of(self, ordinals: NDArray[Any]) -> NDArray[Any]:
        """Those of some ordinals that are admitted, in their order."""
        kept: NDArray[Any] = ordinals[self.mask[ordinals]]
        return kept

    def __len__(self) -> int:
        """How many tools are admitted."""
        return len(self.ordinals)
