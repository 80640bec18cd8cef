"""Files of JSON, YAML and JSON Lines, before any format is read from them."""

import json
from typing import Any

from pipeline.errors import RecordRejected
from pipeline.sources.formats.document import read_document, read_source_lines
from simulations.fuzz.mutation import Form
from simulations.fuzz.target import Resources, Run, Target
from simulations.fuzz.targets import seeds


def _document(suffix: str) -> Any:
    def prepare(resources: Resources) -> Run:
        write, again = resources.file(f"document{suffix}"), resources.file("again.json")

        def run(data: bytes) -> None:
            value = read_document(write(data))
            stored = json.dumps(value, ensure_ascii=False).encode()  # no lone surrogate
            same = json.dumps(read_document(again(stored)), ensure_ascii=False).encode() == stored  # NaN is not NaN
            assert same, "what was read, written and read again differs"

        return run

    return prepare


def _lines(resources: Resources) -> Run:
    write = resources.file("lines.jsonl")

    def run(data: bytes) -> None:
        rows = read_source_lines(write(data))
        origins = [row.origin if isinstance(row, RecordRejected) else row[0] for row in rows]
        assert len(set(origins)) == len(origins), "two lines have one place"
        assert all(row.reason for row in rows if isinstance(row, RecordRejected)), "a line was rejected untold"

    return run


_TREES = tuple(map(seeds.document, (seeds.OPENAPI, seeds.FUNCTIONS, seeds.SERVERS)))
TARGETS = (
    Target("json_document", Form.JSON, _TREES, _document(".json")),
    Target("yaml_document", Form.YAML, (seeds.YAML_TEXT, seeds.MERGES, *_TREES[:2]), _document(".yaml")),
    Target("json_lines", Form.LINES, (seeds.lines(seeds.FUNCTIONS), seeds.lines(seeds.USAGE)), _lines),
)
