"""Turn vendors' documents and servers into raw tools.

`reading.read` takes a catalog's sources in order: `matching` finds the files of folders and patterns, `transport/`
fetches (files, commands, URLs, live MCP servers), `formats/` parses, under the names of `pipeline.settings.sources`;
`python_modules` reads functions. `last_reading` stands in for a source that fails, `ownership` settles whose a label
is. `coverage` says how much of each source was read and which gave nothing; `naming` names sources in messages without
secrets, `provider_label` guesses providers.
"""

from pipeline.errors import RecordRejected
from pipeline.sources.coverage import Coverage, Gap
from pipeline.sources.provider_label import long_label_note
from pipeline.sources.reading import Reading, read
from router.tools.definitions.raw_tool import RawTool

__all__ = ["Coverage", "Gap", "RawTool", "Reading", "RecordRejected", "long_label_note", "read"]
