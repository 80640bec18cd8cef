"""Documents that hold no tools are refused by what they are, with what to do; a tool in a file of its own is read."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from pipeline.sources.formats import detect
from tests.pipeline.sources.reading import read_one, stop_one

SAID = {"name": "bakery", "version": "1.0.0", "description": "Bread."}
SCHEMA = {"type": "object", "properties": {"loaf": {"type": "string"}}}
DOCUMENTS: dict[str, list[Any]] = {
    "a Postman collection": [{"info": {"_postman_id": "1", "name": "x"}, "item": []}],
    "an AsyncAPI document": [{"asyncapi": "3.0.0", "info": {"title": "x"}}],
    "introspection of a GraphQL schema": [{"data": {"__schema": {"types": []}}}, {"__schema": {}}],
    "recording of requests (HAR)": [{"log": {"version": "1.2", "entries": []}}],
    "an Insomnia export": [
        {"_type": "export", "resources": []},
        {"type": "collection.insomnia.rest/5.0", "name": "x", "collection": [{}]},
    ],
    "a Google discovery document": [
        {
            "kind": "discovery#restDescription",
            "name": "tasks",
            "parameters": {"alt": {"type": "string"}},
            "resources": {"lists": {}},
        },
        {"name": "tasks", "parameters": {"alt": {"type": "string"}}, "resources": {"lists": {}}, "servicePath": ""},
    ],
    "a plugin's manifest": [{"schema_version": "v1", "name_for_model": "x", "api": {"url": "https://x.example"}}],
    "an MCP server's entry": [{**SAID, "packages": [{"identifier": "x"}]}, {"name": "x", "remotes": [{"url": "x"}]}],
    "an agent's card": [
        {**SAID, "capabilities": {}, "defaultInputModes": ["text"], "skills": [{"id": "a", "name": "b"}]}
    ],
    "the manifest of a package": [
        *({**SAID, "scripts": {"build": "x"}}, {"name": "a/b", "description": "x", "require": {"c": "1"}}),
        *({"tool": {"poetry": {"name": "x"}}}, {"project": {"name": "x"}, "build-system": {}}),
    ],
    "a JSON Schema": [
        {"name": "Loaf", "description": "x", **SCHEMA},
        {"$schema": "https://json-schema.org/x", "name": "x"},
    ],
    "an object with a name that is no tool": [
        SAID,
        {"name": "Check", "description": "x", "inputs": {"a": {"type": "string"}}, "runs": {"using": "x"}},
    ],
}
TEXTS = {
    "a RAML document": ["#%RAML 1.0\ntitle: x\n"],
    "a protobuf file": ['syntax = "proto3";\nservice X {}\n', '// x\n\nsyntax = "proto2";\n'],
    "a GraphQL schema": ["type Query {\n  a: Int\n}\n", "schema { query: Q }"],
    "XML, such as a WSDL": ['<?xml version="1.0"?>\n<wsdl:definitions/>', "<definitions name='x'>", "<edmx:Edmx>"],
    "a web page (HTML)": ["<!doctype html><p>", '<?xml version="1.0"?><html/>'],
    "an API Blueprint": ["FORMAT: 1A\n# x"],
    "the manifest of a package (TOML)": ['[project]\nname = "x"\n'],
}


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, rows in DOCUMENTS.items() for value in rows], ids=str
)
def test_a_document_of_another_kind_is_refused_by_what_it_is(tmp_path: Path, kind: str, value: Any) -> None:
    (tmp_path / "a.json").write_text(json.dumps(value), encoding="utf-8")
    for form in (None, "function"):
        said = str(stop_one(tmp_path, path="a.json", format=form))
        assert kind in said and "data.items" not in said


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, rows in TEXTS.items() for text in rows])
@pytest.mark.parametrize("file", ["a", "a.json", "a.yaml", "a.jsonl"])
def test_a_text_of_another_kind_is_refused_by_what_it_is(tmp_path: Path, kind: str, text: str, file: str) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert kind in str(stop_one(tmp_path, path=file))


@pytest.mark.parametrize(
    "tool",
    [
        *({"name": "a"}, {"name": "a", "description": "x", "category": "y"}),
        *({"name": "a", "parameters": {}, "version": "1"}, {"name": "a", "args": {"b": "text"}}),
        {"name": "a", "inputSchema": SCHEMA, "scripts": {"x": 1}, "version": "2"},
        {"name": "a", "description": "x", "required_parameters": [{"name": "b"}]},
    ],
)
def test_one_tool_in_a_file_of_its_own_is_read(tmp_path: Path, tool: Any) -> None:
    (tmp_path / "a.json").write_text(json.dumps(tool), encoding="utf-8")
    assert [one.name for one in read_one(tmp_path, path="a.json").tools] == ["a"]
    assert detect(tmp_path / "a.json") == "function"
    (tmp_path / "a.json").write_text(json.dumps({**SAID, **tool}), encoding="utf-8")  # as the refusal says
    assert read_one(tmp_path, path="a.json", fields={"tools": "@"}).tools


LIST = b'[{"name": "a", "description": "x"}]'


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("tools.json", gzip.compress(LIST, mtime=0), None),
        ("tools.jsonl.gz", gzip.compress(LIST[1:-1], mtime=0), None),
        ("tools.yaml.gz", gzip.compress(b"- name: a\n  description: x\n", mtime=0), None),
        ("tools.json", zlib.compress(LIST), None),
        (
            "tools.json",
            gzip.compress(LIST + b" " * 5_000, mtime=0),
            "more than the 2,000 bytes of limits.document_bytes",
        ),
        ("tools.json", b"\x28\xb5\x2f\xfd\x04\x00", "is packed by zstd; unpack it first"),
        ("tools.json", b"\x0b\x02\x80[]\x03", "is packed (brotli and deflate leave no mark), or another binary file"),
        ("tools.json.br", b"\x8b\x82", "is packed (brotli and deflate leave no mark), or another binary file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_packed_is_unpacked_within_bounds_or_named(
    tmp_path: Path, file: str, content: bytes, said: str | None
) -> None:
    (tmp_path / file).write_bytes(content)
    if said:
        assert said in str(stop_one(tmp_path, {"document_bytes": 2_000}, path=file))
    else:
        (tool,) = read_one(tmp_path, path=file).tools
        assert (tool.name, tool.provider) == ("a", None if "jsonl" in file else "tools")
