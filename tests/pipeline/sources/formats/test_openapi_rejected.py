"""What of an API document is wrong, and what that costs: an operation, a path or the run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted
from pipeline.sources.formats import openapi
from tests.pipeline.sources.reading import apart, api, tools

WriteJson = Callable[[str, Any], Path]


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("text", "a tool is a JSON object, this is a text"),
        ({"summary": ["x"]}, "summary is a list, not a text"),
        ({"tags": 7}, "tags is a number, not a list"),
        ({"parameters": {}}, "parameters is not a list"),
        ({"parameters": ["q"]}, "a parameter has no name"),
        ({"parameters": [{"in": "query"}]}, "a parameter has no name"),
        ({"requestBody": "text"}, "requestBody is not an object"),
    ],
)
def test_a_wrong_operation_is_rejected_with_its_pointer_and_others_go_on(
    write_json: WriteJson, operation: Any, reason: str
) -> None:
    document = api({"/a": {"get": operation, "post": {"operationId": "kept"}}, "/b": []})
    names, rejected = apart(openapi.read(write_json("office.json", document)))
    assert names == ["kept"]
    assert rejected == [f"office.json /paths/~1a/get: {reason}", "office.json /paths/~1b: a path item is an object"]


def test_a_parameter_whose_place_is_no_text_is_still_a_property(write_json: WriteJson) -> None:
    operation = {"parameters": [{"name": "q", "in": ["query"], "schema": {"type": "string"}}]}
    (tool,) = tools(openapi.read(write_json("office.json", api({"/a": {"get": operation}}))))
    assert tool.input_schema["properties"] == {"q": {"type": "string"}}


@pytest.mark.parametrize("value", [{}, [], "x", {"openapi": "4.0.0"}, {"swagger": "1.2"}, {"openapi": None}])
def test_what_is_no_api_document_stops_the_run(write_json: WriteJson, value: Any) -> None:
    path = write_json("office.json", value)
    with pytest.raises(RunAborted, match=f"{path} is not an OpenAPI 3 or Swagger 2.0 document"):
        list(openapi.read(path))


def test_paths_that_are_no_object_stop_the_run(write_json: WriteJson) -> None:
    path = write_json("office.json", {**api({}), "paths": [1]})
    with pytest.raises(RunAborted, match=f"{path}: paths is not an object"):
        list(openapi.read(path))
