"""Name the formats of sources. Their readers are in `pipeline.sources.formats`, which a test holds equal to this."""

from typing import Literal

SourceFormat = Literal["function", "openapi", "mcp", "jsonl", "skills"]
