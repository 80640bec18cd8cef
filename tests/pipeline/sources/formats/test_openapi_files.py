"""API documents that are split into files: what is followed, at a path and at an address, and what is not, and why."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import Unavailable
from pipeline.settings import LimitsSettings
from pipeline.sources.formats import openapi
from tests.pipeline.sources.reading import apart, api, read_one, stop_one, tools
from tests.pipeline.sources.web import Web

FILES = {
    "ops/list.yaml": "operationId: list\nsummary: List loaves.\nparameters: [{$ref: ../parts.json#/kind}]\n"
    "responses: {200: {$ref: ../parts.json#/answer}}\n",
    "parts.json": json.dumps(
        {
            "kind": {"name": "kind", "in": "query", "schema": {"$ref": "models/a%20kind.yml"}},
            "answer": {"content": {"application/json": {"schema": {"$ref": "models/a%20kind.yml#/properties/of"}}}},
            "body": {"required": True, "content": {"application/json": {"schema": {"$ref": "#/loaf"}}}},
            "loaf": {"properties": {"kind": {"$ref": "./models/a%20kind.yml"}, "next": {"$ref": "#/loaf"}}},
        }
    ),
    "models/a kind.yml": "{properties: {of: {properties: {id: {$ref: ../api.yaml#/x-id}}}, me: {$ref: '#'}}}",
    "items/add.yml": "post: {$ref: '#/x-add'}\nx-add: {operationId: add, requestBody: {$ref: ../parts.json#/body}}\n",
}
API = """%s
info: {title: Bakery}
x-id: {type: integer}
x-ops: {local: {operationId: local, summary: Local.}}
paths:
  /loaves: {get: {$ref: ops/list.yaml}, delete: {$ref: "#/x-ops/local", deprecated: true}}
  /add: {$ref: items/add.yml, summary: Add a loaf.}
"""
KIND = {"properties": {"of": {"properties": {"id": {"$ref": "#/$defs/x-id"}}}, "me": {"$ref": "#/$defs/a kind"}}}
DEFS = {"a kind": KIND, "x-id": {"type": "integer"}}


def _check(found: list[Any]) -> None:
    listed, local, added = found
    assert (listed.name, listed.description, [row.path for row in listed.outputs]) == ("list", "List loaves.", ["id"])
    assert listed.input_schema == {"type": "object", "properties": {"kind": {"$ref": "#/$defs/a kind"}}, "$defs": DEFS}
    assert (local.name, local.description, local.deprecated) == ("local", "Local.", True)
    assert (added.name, added.description) == ("add", "Add a loaf.")
    loaf = {"properties": {"kind": {"$ref": "#/$defs/a kind"}, "next": {"$ref": "#/$defs/loaf"}}}
    assert added.input_schema["properties"] == loaf["properties"]
    assert added.input_schema["$defs"] == {"a kind": KIND, "loaf": loaf, "x-id": {"type": "integer"}}
    assert not any(tool.notices for tool in found)


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("version", ["openapi: 3.0.3", "openapi: 3.1.0", "openapi: 3.2.0"])
def test_references_into_files_are_followed_from_file_to_file(tmp_path: Path, version: str) -> None:
    _write(tmp_path, {**FILES, "api.yaml": API % version})
    found = read_one(tmp_path, path="api.yaml")
    _check([*found.tools])
    (tmp_path / "ops/list.yaml").write_text("operationId: list\nsummary: Changed.\n", encoding="utf-8")
    assert read_one(tmp_path, path="api.yaml").by_source[0].to_text() != found.by_source[0].to_text()  # what is kept


def test_paths_and_components_may_be_files_as_a_whole(tmp_path: Path) -> None:
    document = {"openapi": "3.0.3", "paths": {"$ref": "all/paths.yml"}, "components": {"$ref": "parts.yml"}}
    operation: dict[str, Any] = {"operationId": "a", "parameters": [{"$ref": "../api.json#/components/parameters/q"}]}
    operation |= {"responses": {"200": {"$ref": "../api.json#/components/responses/ok"}}}
    _write(tmp_path, {"api.json": json.dumps(document), "all/paths.yml": json.dumps({"/a": {"get": operation}})})
    _write(
        tmp_path,
        {"parts.yml": "{parameters: {$ref: q.yml}, responses: {ok: {content: {'*/*': {schema: {$ref: m.yml}}}}}}"},
    )
    _write(
        tmp_path,
        {"q.yml": "q: {name: q, in: query, schema: {$ref: m.yml}}", "m.yml": "properties: {n: {type: string}}"},
    )
    (tool,) = tools(openapi.read(tmp_path / "api.json"))
    assert tool.input_schema["$defs"] == {"m": {"properties": {"n": {"type": "string"}}}}
    assert [row.path for row in tool.outputs] == ["n"]
    (tmp_path / "all/paths.yml").unlink()
    why = "api.json /paths: the reference all/paths.yml is in another document, which is no file"
    assert apart(openapi.read(tmp_path / "api.json")) == ([], [why])


def test_a_url_s_files_are_asked_of_its_own_server_with_its_headers(web: Web) -> None:
    for name, text in {**FILES, "api.yaml": API % "openapi: 3.1.0"}.items():
        web.page(text, path=f"/split/{name.replace(' ', '%20')}")
    before = len(web.asked)
    source: dict[str, Any] = {"url": f"{web.root}/split/api.yaml?v=1", "format": "openapi", "headers": {"X-Key": "k"}}
    _check([*read_one(**source).tools])
    asked = web.asked[before:]
    assert (len(asked), {headers["x-key"] for _, headers in asked}) == (1 + len(FILES), {"k"})
    web.page("no", path="/split/parts.json", status=503)  # a tool would lose its parameters: the last reading stands in
    assert isinstance(stop_one(**source), Unavailable)
    web.page("no", path="/split/parts.json", status=404)
    assert "parts.json' answered 404" in " ".join(read_one(**source).tools[0].notices)
    refs = ("http://127.0.0.1:1/x.yml", "//other.example/x.yml", "file:///etc/passwd", "http://[/x.yml")
    web.page(json.dumps(api({f"/{i}": {"get": {"$ref": ref}} for i, ref in enumerate(refs)})), path="/split/api.yaml")
    found = [str(one) for one in read_one(**source, limits={}).rejected]
    assert len(found) == len(refs)
    assert all("which is on another server" in one or "which is no address" in one for one in found)


def test_what_is_not_followed_rejects_its_operation_by_name_and_reason(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    _write(folder, {"ok.yml": "operationId: ok", ".h.yml": "{}", "bad.yml": "a: [b", "x.toml": ""})
    _write(folder, {"me.yml": "$ref: me.yml", "../out.yml": "summary: secret"})
    (folder / "link.yml").symlink_to(tmp_path / "out.yml")
    (folder / "inside.yml").symlink_to(folder / "ok.yml")
    (folder / "dir.yml").mkdir()
    os.mkfifo(folder / "pipe.yml")
    with (folder / "big.json").open("wb") as file:
        file.truncate(100_000_000)
    out, none, away = "which lies outside of the document's folder", "which is no file", "which is at an address"
    refs = {
        "link.yml": out, "../out.yml": out, "%2e%2e/out.yml": out, str(tmp_path / "out.yml"): out, "missing.yml": none,
        "dir.yml": none, "pipe.yml": none, "a%00.yml": none, f"{'a' * 300}.yml": none, "http://a.example/x.yml": away,
        "file:///etc/passwd": away, "//a.example/x.yml": away, ".h.yml": "which is hidden", "x.toml": "or no file of",
        "bad.yml": "which is not readable YAML", "big.json": "which has 100,000,000 bytes", "me.yml": "back to itself",
        "ok.yml#x": "which is an anchor", "ok.yml#/x": "ok.yml#/x points to nothing",
    }  # fmt: skip
    refs |= {"#/x-files/..~1out.yml": out, "#/x-files/.h.yml~1": none}  # the inner form, written by hand
    for read in ("ok.yml", "./ok.yml", "inside.yml", "sub/../ok.yml"):
        refs[read] = ""
    paths = {f"/{i}": {"get": {"$ref": ref}} for i, ref in enumerate(refs)}
    _write(folder, {"api.json": json.dumps(api(paths))})
    names, rejected = apart(openapi.read(folder / "api.json"))
    assert names == ["ok"] * 4
    for one, (ref, why) in zip(rejected, refs.items(), strict=False):
        assert why in one
        assert ref[:100] in one or ref.startswith("#")


def test_files_are_bounded_in_number_and_bytes_together_and_each_is_read_once(tmp_path: Path) -> None:
    count = 1_000
    _write(tmp_path, {f"{i}.yml": f"operationId: o{i}\nresponses: {{200: {{$ref: answer.yml}}}}" for i in range(count)})
    _write(tmp_path, {"answer.yml": "content: {application/json: {schema: {properties: {a: {type: string}}}}}"})
    _write(tmp_path, {"api.json": json.dumps(api({f"/{i}": {"get": {"$ref": f"{i}.yml"}} for i in range(count)}))})
    assert [len(one.outputs) for one in tools(openapi.read(tmp_path / "api.json"))] == [1] * count
    for limit, most in (("referenced_files", 10), ("document_bytes", 45_000)):
        names, rejected = apart(openapi.read(tmp_path / "api.json", LimitsSettings(**{limit: most})))
        assert rejected
        assert all(limit in one for one in rejected)
        assert len(names) + len(rejected) == count
