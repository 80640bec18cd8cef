"""catalogs/prefect: the document of the installed Prefect server. Live, without a network."""

import importlib.util

import pytest

from pipeline.records import catalog_records
from pipeline.settings import load
from pipeline.sources import Reading, read
from tests.support.places import ROOT

FOLDER = ROOT / "catalogs" / "prefect"
pytestmark = pytest.mark.skipif(importlib.util.find_spec("prefect") is None, reason="needs the extra flows")


@pytest.fixture(scope="module")
def reading() -> Reading:
    return read(load(FOLDER, environment={}))


def test_every_operation_of_the_server_is_a_tool(reading: Reading) -> None:
    assert reading.rejected == ()
    assert len(reading.tools) > 150
    assert all(tool.provider == "prefect" and tool.description and not tool.notices for tool in reading.tools)


def test_known_operations_are_among_them(reading: Reading) -> None:
    found = {(tool.annotations["method"], tool.annotations["path"]): tool for tool in reading.tools}
    create = found["POST", "/deployments/{id}/create_flow_run"]
    assert {"id", "parameters", "tags"} <= set(create.input_schema["properties"])
    assert create.categories == ("Deployments",)
    assert found["POST", "/flow_runs/filter"].origin.pointer == "/paths/~1flow_runs~1filter/post"
    assert found["DELETE", "/variables/name/{name}"].input_schema["required"] == ["name"]


def test_no_two_operations_are_taken_for_one(reading: Reading) -> None:
    catalog = catalog_records(reading.tools)
    assert len(catalog.records) == len(reading.tools)
    assert catalog.count("merged") == 0
