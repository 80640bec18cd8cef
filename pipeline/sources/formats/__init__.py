"""Parse the documents of sources into raw tools: one module per format, with `read(path, limits)`.

A new format is a module here, a line in READERS and its name in `SourceFormat`; a test holds both equal. `detect` finds
the format of a file that does not say it, `mapped` reads any other shape by `source.fields`; `document` parses files,
`yaml_values` YAML, `json_schema` the schemas of API documents.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pipeline.errors import RecordRejected
from pipeline.settings import LimitsSettings
from pipeline.settings.sources import SourceFormat
from pipeline.sources.formats import function_schema, mcp, openapi, skills
from router.tools.definitions.raw_tool import RawTool

READERS: Mapping[SourceFormat, Callable[[Path, LimitsSettings], Iterator[RawTool | RecordRejected]]] = {
    "function": function_schema.read,
    "openapi": openapi.read,
    "mcp": mcp.read,
    "jsonl": function_schema.read_jsonl,
    "skills": skills.read,
}
