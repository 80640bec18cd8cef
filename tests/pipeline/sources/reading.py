"""What the tests of sources share: one source read, an answer taken apart, an API document made of its paths."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import CatalogSettings
from pipeline.sources import RawTool, Reading, read


def tools(items: Iterable[RawTool | RecordRejected | str]) -> list[RawTool]:
    """The tools of a reading of which nothing was rejected."""
    found = list(items)
    rejected = [str(item) for item in found if isinstance(item, RecordRejected)]
    assert not rejected
    return [item for item in found if isinstance(item, RawTool)]


def apart(items: Iterable[RawTool | RecordRejected | str]) -> tuple[list[str], list[str]]:
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


def read_all(folder: Path, *sources: dict[str, Any], **more: Any) -> Reading:
    """What the sources of a catalog give."""
    return read(CatalogSettings(name="office", folder=folder, source=sources, **more))


def read_one(folder: Path = Path(), limits: Mapping[str, int] | None = None, **source: Any) -> Reading:
    """What one source gives."""
    return read_all(folder, {"timeout_s": 120, **source}, limits=dict(limits or {}))


def stop_one(folder: Path = Path(), limits: Mapping[str, int] | None = None, **source: Any) -> RunAborted:
    """Why one source stops the run."""
    with pytest.raises(RunAborted) as stopped:
        read_one(folder, limits, **source)
    return stopped.value
