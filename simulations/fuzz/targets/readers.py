"""The source formats: a file to raw tools, and those to the records of a catalog."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from pydantic import ValidationError

from pipeline.errors import RecordRejected
from pipeline.memo import Memo
from pipeline.records import catalog_records
from pipeline.settings import FieldSettings
from pipeline.settings.sources import SourceFormat
from pipeline.sources.formats import READERS, detect
from pipeline.sources.formats.document import DEFAULT_LIMITS
from pipeline.sources.formats.tool_lists import read_mapped
from router.errors import QuartermasterError
from router.record import ToolRecord
from router.tools.definitions.raw_tool import RawTool
from simulations.fuzz.mutation import Form
from simulations.fuzz.target import Resources, Run, Target, read_object
from simulations.fuzz.targets import seeds
from tests.support.factories import TOOLS


def check_tools(items: Iterable[RawTool | RecordRejected | str]) -> None:
    """Check what a reader gave: reasons and places of what is rejected, records that can be stored, ids once."""
    tools = []
    for item in items:
        if isinstance(item, str):  # a notice about the whole source
            continue
        assert item.origin.file, "a tool has no place"
        if isinstance(item, RecordRejected):
            assert item.reason, "a record was rejected without a reason"
        else:
            tools.append(item)
    records = catalog_records(tools).records
    assert len({record.tool_id for record in records}) == len(records), "two tools have one id"
    for record in records:
        stored = json.dumps(record.to_json(), ensure_ascii=False, allow_nan=False).encode()
        assert ToolRecord.from_json(json.loads(stored)).to_json() == json.loads(stored), "a record changes when stored"


def _reader(kind: SourceFormat, suffix: str) -> Callable[[Resources], Run]:
    def prepare(resources: Resources) -> Run:
        write = resources.file(f"tools{suffix}")
        return lambda data: check_tools(READERS[kind](write(data), DEFAULT_LIMITS, Memo()))

    return prepare


def _detected(suffix: str) -> Callable[[Resources], Run]:
    def prepare(resources: Resources) -> Run:
        write = resources.file(f"detected{suffix}")

        def run(data: bytes) -> None:
            path: Path = write(data)
            check_tools(READERS[detect(path)](path, DEFAULT_LIMITS, Memo()))

        return run

    return prepare


def _mapped(resources: Resources) -> Run:
    write = resources.file("mapped.json")

    def run(data: bytes) -> None:
        row = read_object(data)
        settings = FieldSettings.model_validate(row.get("fields"))
        check_tools(read_mapped(write(json.dumps(row.get("document")).encode()), settings, lines=False))

    return run


_FIELDS = {
    "servers": "servers", "tools": "apis[]", "name": "api.label", "description": "api.text || ''",
    "parameters": "args", "provider": "title", "id": "join('/', [api.label, 'x'])",
}  # fmt: skip
_MAPPED = seeds.document({"fields": _FIELDS, "document": seeds.SERVERS})
_SLICED = seeds.document({"fields": {"tools": "[*].apis[::-1] | [:2][]"}, "document": [{"apis": seeds.FUNCTIONS}]})
_API = tuple(map(seeds.document, (seeds.OPENAPI, seeds.SWAGGER)))
_ALL = (*_API, seeds.document(seeds.FUNCTIONS), seeds.document(seeds.MCP), seeds.document({"tools": seeds.FUNCTIONS}))
_ROWS = (seeds.lines(TOOLS), seeds.lines(seeds.FUNCTIONS))
_NOT_MAPPED = (QuartermasterError, ValidationError)  # a sentence is made of the latter by `settings.load`
TARGETS = (
    Target("function_schemas", Form.JSON, _ALL[2:], _reader("function", ".json")),
    Target("openapi", Form.JSON, _API, _reader("openapi", ".json")),
    Target("openapi_yaml", Form.YAML, (seeds.YAML_TEXT, *_API), _reader("openapi", ".yaml")),
    Target("mcp_tools", Form.JSON, _ALL[3:4], _reader("mcp", ".json")),
    Target("jsonl_catalog", Form.LINES, _ROWS, _reader("jsonl", ".jsonl")),
    Target("mapped", Form.JSON, (_MAPPED, _SLICED), _mapped, errors=_NOT_MAPPED),
    Target("detected", Form.JSON, _ALL, _detected(".json")),
    Target("detected_lines", Form.LINES, _ROWS, _detected(".jsonl")),
)
