"""Which retriever serves which signal, and how it is opened from a snapshot's folder.

A new signal needs a member of `Signal`, at its end, a line in OPENERS, and its weight in `router.retrieval.recipe`. One
that ranks otherwise than the lists here needs a retriever file. A BM25 list over another text needs none, but the text:
`LEXICAL_SIGNALS`, `router.tools.field_text` for a build, and `router.snapshot.overlay.indexed_tool` for tools
registered at run time.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from router.contract import Manifest, Signal
from router.retrieval.retrievers import DenseRetriever, IntentRetriever, Retriever, open_lexical

# Given the snapshot's folder, its manifest and its number of tools; None where the snapshot cannot serve the signal.
Opener = Callable[[Path, Manifest, int], Retriever | None]

OPENERS: dict[Signal, Opener] = {
    Signal.NAME: partial(open_lexical, Signal.NAME),
    Signal.DESCRIPTION: partial(open_lexical, Signal.DESCRIPTION),
    Signal.EXPANSION: partial(open_lexical, Signal.EXPANSION),
    Signal.DENSE: DenseRetriever.open,
    Signal.INTENT: IntentRetriever.open,
}


def open_retrievers(folder: Path, manifest: Manifest, tools: int) -> Mapping[Signal, Retriever]:
    """Return the retrievers of the signals that a snapshot with `tools` tools has, in the order of `Signal`.

    Raises SnapshotInvalid where a file is missing, unreadable or of another catalog.
    """
    opened = ((signal, OPENERS[signal](folder, manifest, tools)) for signal in Signal if signal in manifest.signals)
    return {signal: retriever for signal, retriever in opened if retriever is not None}
