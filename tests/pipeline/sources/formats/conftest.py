"""Fixtures of the formats: the operation of an API document."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.sources.formats import openapi
from router.operation import Operation
from tests.pipeline.sources.reading import tools

WriteJson = Callable[[str, Any], Path]


@pytest.fixture
def operation_of(write_json: WriteJson) -> Callable[..., Operation]:
    """Read the operation of a document with one path: an OpenAPI one, or whatever `document` adds."""

    def read(row: dict[str, Any], method: str = "get", path: str = "/a", **document: Any) -> Operation:
        version = {} if "swagger" in document else {"openapi": "3.1.0"}
        item = document.pop("item", {})
        (tool,) = tools(
            openapi.read(write_json("a.json", {**version, "paths": {path: {**item, method: row}}, **document}))
        )
        assert tool.operation is not None
        return tool.operation

    return read
