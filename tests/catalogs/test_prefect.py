"""catalogs/prefect: the document of the installed Prefect server. Live, without a network."""

import importlib.util

import pytest

from pipeline.records import catalog_records
from pipeline.settings import load
from pipeline.sources import read
from tests.support.places import ROOT

FOLDER = ROOT / "catalogs" / "prefect"


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec("prefect") is None, reason="needs the extra flows")
def test_every_operation_of_the_server_is_a_tool_and_no_two_are_taken_for_one() -> None:
    reading = read(load(FOLDER, environment={}))
    assert reading.rejected == ()
    assert len(reading.tools) > 150
    assert all(tool.provider == "prefect" and tool.description and not tool.notices for tool in reading.tools)
    found = {(tool.annotations["method"], tool.annotations["path"]): tool for tool in reading.tools}
    create = found["POST", "/deployments/{id}/create_flow_run"]
    assert {"id", "parameters", "tags"} <= set(create.input_schema["properties"])
    assert create.categories == ("Deployments",)
    assert found["POST", "/flow_runs/filter"].origin.pointer == "/paths/~1flow_runs~1filter/post"
    assert found["DELETE", "/variables/name/{name}"].input_schema["required"] == ["name"]
    catalog = catalog_records(reading.tools)
    assert len(catalog.records) == len(reading.tools) and catalog.count("merged") == 0
