"""The gate by tool: a new or changed tool that takes other tools' requests is held back alone, and nothing else.

`content` says which tools are new or changed, and what each says that it is. `gains` chooses the requests that they are
tried on, and measures which of them they enter.
"""

from pipeline.ledger import QuarantinedTool
from pipeline.publish.quarantine.content import (
    ChangedTools,
    changed_tools,
    content_hash,
    identity_text,
    indexed_tools,
)
from pipeline.publish.quarantine.gains import Gain, Probe, exceeds, measure_gains, probes_of

__all__ = [
    "ChangedTools",
    "Gain",
    "Probe",
    "QuarantinedTool",
    "changed_tools",
    "content_hash",
    "exceeds",
    "identity_text",
    "indexed_tools",
    "measure_gains",
    "probes_of",
]
