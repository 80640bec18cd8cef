"""The installed Prefect's own API: its document becomes a catalog, and the catalog's tools are called at the server."""

import asyncio
import uuid
from collections.abc import Iterator

import msgspec
import pytest

from pipeline.build import build
from pipeline.settings import load
from quartermaster.calling import CallRefused, CallSettings, HttpCaller, ProviderCalls
from router import Router
from tests.support.quick import QUICK

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def prefect_tools(prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Router]:
    """A router over the operations of the running server's version."""
    from prefect.server.api.server import create_app

    folder = tmp_path_factory.mktemp("prefect_tools")
    document = folder / "prefect.openapi.json"
    document.write_bytes(msgspec.json.encode(create_app(ephemeral=True).openapi()))
    report = build(load(document, QUICK, environment={}), workspace=folder / "ws")
    with Router.open(report.snapshot) as router:
        yield router


def test_flows_are_read_created_and_found_again(prefect_tools: Router, prefect_server: str) -> None:
    provider = next(iter(prefect_tools.providers))
    assert provider

    def tool(method: str, path: str) -> str:
        return next(
            record.tool_id
            for record in prefect_tools.tools
            if (record.annotations["method"], record.annotations["path"]) == (method, path)
        )

    create, find, by_name = tool("POST", "/flows/"), tool("POST", "/flows/filter"), tool("GET", "/flows/name/{name}")
    name = f"nightly {uuid.uuid4()} é?;"
    reading = HttpCaller(
        prefect_tools, CallSettings({provider: ProviderCalls(base_url=prefect_server, allow_tools=[find])})
    )
    writing = HttpCaller(prefect_tools, CallSettings({provider: ProviderCalls(base_url=prefect_server, write=True)}))

    async def talk() -> None:
        with pytest.raises(CallRefused, match="only reading"):
            await reading.call(create, {"name": name})
        missing = await reading.call(by_name, {"name": name})
        assert (missing.status, missing.is_error) == (404, True) and "Flow not found" in missing.text
        created = (await writing.call(create, {"name": name, "tags": ["a", "b"]})).value
        assert (created["name"], created["tags"]) == (name, ["a", "b"])
        assert (await reading.call(by_name, {"name": name})).value["id"] == created["id"]
        flows = await reading.call(find, {"flows": {"name": {"any_": [name]}}, "limit": 5})
        assert [flow["id"] for flow in flows.value] == [created["id"]]
        refused = await reading.call(find, {"limit": 1, "sort": "NAME_ASC", "x-prefect-api-version": "0.0"})
        assert refused.is_error and refused.status == 400  # the header arrives: this version is too old

    asyncio.run(talk())
