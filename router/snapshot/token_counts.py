"""The tokens of each tool as a model is given it: counted by the build, or estimated."""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from router import contract
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.provider_formats import Detail, Form, VendorText
from router.record import ToolRecord
from router.retrieval.arrays import load_array
from router.snapshot.record_store import ToolEntries

_logger = logging.getLogger("router")


@dataclass(frozen=True)
class TokenCounts:
    """The tokens of the tools in `records`, by form and detail.

    `counted` has by form the counts of a build, int32 (tools, details), in the order of `Detail`. Any other form, and
    any ordinal behind them, is estimated where it is first asked for.
    """

    records: ToolEntries
    counted: Mapping[Form, NDArray[np.int32]] = field(default_factory=dict)
    _estimates: dict[tuple[Form, int], list[int]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def open(cls, folder: Path, manifest: Manifest, records: ToolEntries) -> "TokenCounts":
        """Open the counts of a snapshot's folder, memory-mapped.

        Forms that the router does not know are ignored. Those that the snapshot has no counts of are estimated, which
        the logger "router" warns of. Raises SnapshotInvalid where the counts do not fit the manifest.
        """
        stored = load_array(folder / contract.TOKEN_COUNTS)
        forms, details = manifest.token_formats, manifest.token_details
        if stored.shape != (len(records), len(forms), len(details)) or stored.dtype != np.int32:
            raise SnapshotInvalid(
                f"{folder}: token counts of shape {stored.shape} ({stored.dtype}) do not fit {len(records)} tools "
                f"in {len(forms)} forms and {len(details)} details"
            )
        counted = {}
        if {*Detail} <= {*details}:
            columns = slice(None) if details == tuple(Detail) else [details.index(detail) for detail in Detail]
            counted = {form: stored[:, forms.index(form)][:, columns] for form in Form if form in forms}
        if missing := [form for form in Form if form not in counted]:
            _logger.warning(
                "%s has no token counts of %s: they are estimated; build the catalog again",
                manifest.snapshot,
                ", ".join(missing),
            )
        return cls(records, counted)

    def over(self, records: ToolEntries) -> "TokenCounts":
        """Return the counts of more tools, of which these are the first."""
        return TokenCounts(records, self.counted)

    def of(
        self,
        form: Form,
        ordinals: Sequence[int] | NDArray[np.integer],
        vendor_text: VendorText = VendorText.TRUSTED,
    ) -> NDArray[np.int32]:
        """Return the tokens of some tools in one form, int32 (ordinals, details).

        A build counts the trusted text. With `vendor_text` "verbatim", tools that have more than that are estimated.
        """
        places = np.asarray(ordinals, np.int64)
        counted = self.counted.get(form)
        if vendor_text is VendorText.VERBATIM:
            rows = [self._verbatim(form, place) for place in places.tolist()]
            return np.array(rows, np.int32).reshape(len(rows), len(Detail))
        if counted is not None and (places < len(counted)).all():
            return counted[places]
        rows = [
            counted[place] if counted is not None and place < len(counted) else self._estimated(form, place)
            for place in places.tolist()
        ]
        return np.array(rows, np.int32).reshape(len(rows), len(Detail))

    def table(self) -> NDArray[np.int32]:
        """Return the tokens of every tool in every form, int32 (tools, forms, details). It takes a copy."""
        return np.stack([self.of(form, range(len(self.records))) for form in Form], axis=1)

    def _verbatim(self, form: Form, ordinal: int) -> list[int]:
        """Return the tokens of a tool as its vendor wrote it; never fewer than those of its trusted text."""
        from router.provider_formats import handed_record

        tokens: list[int] = self.of(form, [ordinal])[0].tolist()
        record = self.records.entry(ordinal).record
        if handed_record(record, VendorText.TRUSTED).record is record:
            return tokens
        return list(map(max, tokens, estimated_tokens(record, form, VendorText.VERBATIM)))

    def _estimated(self, form: Form, ordinal: int) -> list[int]:
        key = form, ordinal
        if key not in self._estimates:
            self._estimates[key] = estimated_tokens(self.records.entry(ordinal).record, form)
        return self._estimates[key]


def estimated_tokens(record: ToolRecord, form: Form, vendor_text: VendorText = VendorText.TRUSTED) -> list[int]:
    """Return an estimate of a tool's tokens in one form, by detail: a quarter of the characters of its compact JSON.

    It is rounded up, and errs on the high side for JSON. A router has no tokeniser file at hand.
    """
    from router.provider_formats import variants  # here: a build has counted the tokens of most tools

    texts = (
        json.dumps(tool, separators=(",", ":"), ensure_ascii=False) for tool, _ in variants(record, [form], vendor_text)
    )
    return [math.ceil(len(text) / 4) for text in texts]
