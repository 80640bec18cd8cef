"""Numbers past the range of a double: one record is rejected, in every format, and the rest go on."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.settings import load
from pipeline.sources.formats import openapi, tool_lists
from router import Router
from router.provider_formats.formats import ProviderFormat
from tests.pipeline.sources.reading import apart, api
from tests.support.quick import QUICK

HUGE = 10**308  # 309 digits
LARGEST = HUGE - 1
GOOD = {"name": "good", "description": "Is good.", "inputSchema": {"type": "object"}}
NUMBERS = [str(HUGE), f"-{HUGE}", "9" * 5_000, "1e400", "NaN", "Infinity"]


def bad(number: Any) -> dict[str, Any]:
    return {"name": "bad", "inputSchema": {"properties": {"n": {"enum": [1, {"deep": [number]}]}}}}


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:9])
@pytest.mark.parametrize("read", [tool_lists.read_functions, tool_lists.read_mcp])
def test_of_a_document_one_record_is_rejected(tmp_path: Path, number: str, read: Any) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([bad("?"), GOOD]).replace('"?"', number), encoding="utf-8")
    told = "tools.json /0: it holds a number that is too large, or none (NaN, Infinity)"
    assert apart(read(path)) == (["good"], [told])


@pytest.mark.parametrize("number", [str(HUGE), "9" * 5_000, "1e400", "!!float .inf", "!!float .nan"], ids=len)
@pytest.mark.parametrize("by_reference", [False, True])
def test_of_an_api_one_operation_is_rejected(tmp_path: Path, number: str, by_reference: bool) -> None:
    schema = {"$ref": "#/components/schemas/Huge"} if by_reference else {"maximum": "?"}
    operation = {"operationId": "bad", "parameters": [{"name": "n", "in": "query", "schema": schema}]}
    document = api(
        {"/a": {"get": operation}, "/b": {"get": {"operationId": "good"}}},
        components={"schemas": {"Huge": {"maximum": "?"}}},
    )
    (tmp_path / "api.yaml").write_text(json.dumps(document).replace('"?"', number), encoding="utf-8")
    names, rejected = apart(openapi.read(tmp_path / "api.yaml"))
    assert names == ["good"] and len(rejected) == 1
    assert rejected[0].startswith("api.yaml /paths/~1a/get: it holds a number that is too large")


def test_a_build_keeps_what_a_double_can_hold_and_goes_on_without_the_record_of_any_other(
    tmp_path: Path, write_json: Any
) -> None:
    numbers = [2**63, 2**64, LARGEST, -LARGEST, 1e308]
    rows = [{**bad(number), "name": f"t{at}"} for at, number in enumerate(numbers)]
    path = write_json("tools.json", [*rows, bad(HUGE)])
    chosen: dict[str, dict[str, Any]] = {**QUICK, "publish": {"max_rejected_share": 1}}
    report = build(load(path, chosen, environment={}), workspace=tmp_path / "ws")
    assert (report.counts["tools"], report.counts["rejected"]) == (5, 1)
    router = Router.open(report.snapshot)
    for at, number in enumerate(numbers):
        record = router.record(f"tools/t{at}")
        assert record is not None and record.input_schema == bad(number)["inputSchema"]
    for form in ProviderFormat:
        assert len(router.route("t0 t1 t2 t3 t4", form=form).render().tools) == 5
