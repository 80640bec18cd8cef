"""Skills over HTTP and on the pages: the filter, the record with its instructions, and what marks them."""

import pytest
from starlette.testclient import TestClient

from router import Router, ToolRecord
from router.record import Kind
from tests.quartermaster.serving.conftest import Ask

TEA = ToolRecord(
    "own/tea", "own", "tea", "Make tea for a guest.", kind=Kind.SKILL, instructions="Boil <b>water</b>.\n\nWait."
)
CUP = ToolRecord("own/cup", "own", "cup", "Fetch a cup for tea.")


@pytest.fixture(scope="module")
def client(client_of: Ask) -> TestClient:
    return client_of(Router.from_tools([TEA, CUP], encoder=None))


def routed(client: TestClient, **selection: object) -> list[str]:
    answer = client.post("/v1/route", json={"request": "make tea", "selection": selection})
    assert answer.status_code == 200, answer.text
    return sorted(tool["tool_id"] for tool in answer.json()["tools"])


def test_a_selection_filters_by_kind(client: TestClient) -> None:
    assert routed(client) == ["own/cup", "own/tea"]
    assert routed(client, kinds=["skill"]) == ["own/tea"]
    assert routed(client, kinds=["tool", "prompt"]) == ["own/cup"]
    refused = client.post("/v1/route", json={"request": "make tea", "selection": {"kinds": ["agent"]}})
    assert refused.status_code == 422
    assert "kinds" in refused.text and "'agent', it must be one of tool, skill, prompt" in refused.text


def test_instructions_come_with_the_record_that_is_asked_for_and_not_with_the_list(client: TestClient) -> None:
    skill, tool = client.get("/v1/tools/own/tea").json(), client.get("/v1/tools/own/cup").json()
    assert (skill["kind"], skill["instructions"]) == ("skill", TEA.instructions)
    assert not {"kind", "instructions"} & tool.keys()
    listed = client.get("/v1/tools").json()["tools"]
    assert [row.get("kind") for row in listed] == [None, "skill"]
    assert all("instructions" not in row for row in listed)


def test_the_pages_mark_a_skill_filter_by_kind_and_show_what_it_says(client: TestClient) -> None:
    answer = client.get("/", params={"request": "make tea", "kind": "skill"}).text
    assert '<span class="kind">skill</span>' in answer and "its kind is none of: skill" in answer
    assert "<option selected>skill</option>" in answer
    assert client.get("/tools").text.count('<span class="kind">skill</span>') == 1
    page = client.get("/tools/own/tea").text
    assert "<dt>kind</dt><dd>skill</dd>" in page and "Boil &lt;b&gt;water&lt;/b&gt;.\n\nWait." in page
    assert "Instructions" not in client.get("/tools/own/cup").text

    unknown = client.get("/", params={"request": "make tea", "kind": "agent"}).text
    assert "kinds" in unknown and "tool, skill, prompt" in unknown


def test_a_router_in_memory_is_ready_and_says_what_it_is(client: TestClient) -> None:
    status = client.get("/v1/snapshot").json()
    assert (status["catalog"], status["encoder"], status["token_counter"]) == ("memory", None, "estimate")
    assert [client.get(path).status_code for path in ("/readyz", "/metrics", "/")] == [200] * 3
