"""The first page without a request: sample requests, providers and facts of the catalog."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from router.contract import Manifest
from router.errors import QuartermasterError
from router.router import Router

# Takes a snapshot's folder. Returns the US dollars that its expansions have cost, None where a price is unknown.
# Raises QuartermasterError where the inspection database cannot be read.
CatalogCost = Callable[[Path], float | None]

_logger = logging.getLogger("quartermaster.serving")
_SAMPLES = 6
_MAX_SAMPLE = 120  # characters
_MAX_LOOKED_AT = 64  # tools, for samples


@dataclass(frozen=True, slots=True)
class Samples:
    """Requests to try; `judged` says that they are judged requests of the catalog, and not phrases of its tools."""

    requests: tuple[str, ...]
    judged: bool


def sample_requests(router: Router) -> Samples:
    """Return judged requests of the catalog; where there are none, a phrase each of tools that are spread over it."""
    evaluation = router.manifest.evaluation or {}
    examples = evaluation.get("examples") or ()
    if examples:
        return Samples(tuple(examples[:_SAMPLES]), judged=True)
    tools = router.tools  # of one snapshot, whatever serves meanwhile
    ids = [tools[place].tool_id for place in _spread(len(tools))]
    phrases = dict.fromkeys(phrase for tool_id in ids if (phrase := _phrase(router, tool_id)))
    return Samples(tuple(islice(phrases, _SAMPLES)), judged=False)


def _spread(count: int) -> list[int]:
    """Return positions of `count` tools, spread evenly; first `_SAMPLES` of them, then those between."""
    looked_at = min(_MAX_LOOKED_AT, count)
    evenly = [(2 * position + 1) * count // (2 * looked_at) for position in range(looked_at)]
    step = max(looked_at // _SAMPLES, 1)
    return [position for start in range(step) for position in evenly[start::step]]


def _phrase(router: Router, tool_id: str) -> str | None:
    """Return the first short phrase of a tool; the last phrase says when to use it, not what is asked."""
    phrases = router.phrases(tool_id)
    return next((phrase for phrase in phrases[:-1] or phrases if len(phrase) <= _MAX_SAMPLE), None)


class CostCache:
    """The cost of the catalog that serves, read once for each snapshot."""

    def __init__(self, cost: CatalogCost | None) -> None:
        self._cost = cost
        self._known: tuple[Path | None, float | None] = (None, None)

    def of(self, folder: Path | None) -> float | None:
        """Return the US dollars that the expansions of a snapshot have cost; None where that is not known."""
        if folder is None or self._cost is None:
            return None
        if self._known[0] != folder:
            try:
                self._known = (folder, self._cost(folder))
            except QuartermasterError:  # the snapshot was written without the database, or by an older version
                self._known = (folder, None)
            except (OSError, ImportError) as error:  # may pass: the next visit asks again
                _logger.warning("the cost of %s cannot be read: %s", folder.name, error)
                return None
        return self._known[1]


def facts(manifest: Manifest, tools: int, cost: float | None) -> list[tuple[str, str]]:
    """Return what there is to know of a catalog, as labels and texts."""
    counts, encoder = manifest.counts, manifest.encoder
    generators = ", ".join(f"{name} ({count:,})" for name, count in manifest.generators.items())
    written = (("phrases", f"{counts.get('phrases', 0):,}"), ("written by", generators or "nobody"))
    rows = [
        ("tools", f"{tools:,}"),
        *(written if "phrases" in counts else ()),  # not told of to a profile that leaves tools out
        ("languages", ", ".join(manifest.languages)),
        ("encoder", encoder.described if encoder else "none"),
        ("built", manifest.created_at.replace("T", " ").removesuffix("+00:00").removesuffix("Z") + " UTC"),
        ("no-tool answer", "calibrated on this catalog" if calibrated(manifest) else "not calibrated for this catalog"),
    ]
    if cost is not None:
        rows.append(("model cost", f"${cost:,.4f}" if cost else "nothing"))
    if manifest.evaluation:
        rows.append(("judged", _judged(manifest.evaluation)))
    return rows


def calibrated(manifest: Manifest) -> bool:
    """Return whether the probability that some tool fits was fitted to this catalog."""
    fitting = manifest.tuning.get("fitting")
    return isinstance(fitting, Mapping) and bool(fitting.get("calibrated"))


def _judged(evaluation: Mapping[str, Any]) -> str:
    share = evaluation["metrics"].get("recall@10")
    found = "" if share is None else f", {share:.0%} find a tool among the first ten".replace("%", " %")
    return f"{evaluation['requests']:,} requests{found}"
