"""The gate by tool: a new or changed tool that takes other tools' requests is held back alone, and nothing else.

`content` says which tools are new or changed, `probes` are the requests that they are tried on, `claim` is what a tool
says that it is, and `gains` measures which requests it enters.
"""

from pipeline.ledger import QuarantinedTool
from pipeline.publish.quarantine.content import ChangedTools, changed_tools, content_hash
from pipeline.publish.quarantine.gains import Gain, exceeds, measure_gains
from pipeline.publish.quarantine.probes import Probe, probes_of

__all__ = [
    "ChangedTools",
    "Gain",
    "Probe",
    "QuarantinedTool",
    "changed_tools",
    "content_hash",
    "exceeds",
    "measure_gains",
    "probes_of",
]
