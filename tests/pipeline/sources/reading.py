"""What the tests of the readers share: an answer taken apart, and an API document made of its paths."""

from collections.abc import Iterable
from typing import Any

from pipeline.errors import RecordRejected
from pipeline.sources import RawTool


def tools(items: Iterable[RawTool | RecordRejected]) -> list[RawTool]:
    """The tools of a reading of which nothing was rejected."""
    found = list(items)
    rejected = [str(item) for item in found if isinstance(item, RecordRejected)]
    assert not rejected
    return [item for item in found if isinstance(item, RawTool)]


def apart(items: Iterable[RawTool | RecordRejected]) -> tuple[list[str], list[str]]:
    """The names of a reading's tools, and what was rejected in words."""
    found = list(items)
    names = [item.name for item in found if isinstance(item, RawTool)]
    return names, [str(item) for item in found if isinstance(item, RecordRejected)]


def api(paths: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An OpenAPI 3.0 document."""
    return {"openapi": "3.0.3", "info": {"title": "Office", "version": "1"}, "paths": paths, **more}


def search(schema: Any, **more: Any) -> dict[str, Any]:
    """A document of one operation with one query parameter `q` of this schema."""
    operation = {"operationId": "search", "parameters": [{"name": "q", "in": "query", "schema": schema}]}
    return api({"/search": {"get": operation}}, **more)


def body(schema: Any, required: bool = False) -> dict[str, Any]:
    """A request body of OpenAPI 3 with this JSON schema."""
    return {"required": required, "content": {"application/json": {"schema": schema}}}
