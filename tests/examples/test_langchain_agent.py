"""examples/langchain_agent.py: an agent of LangChain over a chat model's server."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.examples.conftest import Run, reaching
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion
from tests.router.adapters.agent_model import calling
from tests.support.documents import blocks
from tests.support.places import ROOT

pytest.importorskip("langchain", reason="the extra langchain is not installed")

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "how full is the battery": ("battery_level", {"hour": 14}),
    "heat the water tank to 55 degrees": ("heat_water", {"degrees": 55}),
    "and what about the battery tonight": ("battery_level", {"hour": 22}),
}


def script(body: Mapping[str, Any], _: int) -> Reply:
    """Call the tool that a sensible model would call, then say what it gave."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        return Reply(completion(f"It says: {last['content']}"))
    name, arguments = CALLS[last["content"]]
    assert name in [tool["function"]["name"] for tool in body["tools"]]
    return calling(name, arguments)


def test_each_turn_adds_its_tools_behind_the_others_and_the_page_shows_this_run(run: Run) -> None:
    with ModelServer(script) as model:
        printed = run("langchain_agent.py", "--model", "a-model", **reaching(model))
    (transcript, *_) = blocks("text", page=ROOT / "docs/integrations/langchain.md")
    assert printed == transcript.text
    assert [request.body["model"] for request in model.requests] == ["a-model"] * 6
    first, last = model.requests[0].body["tools"], model.requests[-1].body["tools"]
    assert last[: len(first)] == first
