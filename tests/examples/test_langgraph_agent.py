"""examples/langgraph_agent.py: an agent of LangGraph over a chat model's server."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.examples.conftest import Run, reaching
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion
from tests.router.adapters.agent_model import calling
from tests.support.documents import blocks
from tests.support.places import ROOT

pytest.importorskip("langgraph", reason="the extra langgraph is not installed")


def script(body: Mapping[str, Any], _: int) -> Reply:
    """Call the tool that a sensible model would call, then say what it gave."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        return Reply(completion(f"It says: {last['content']}"))
    return calling("move_budget", {"source": "phone", "target": "travel", "euros": 40})


def test_the_agent_is_given_the_tools_that_fit_and_the_page_shows_this_run(run: Run) -> None:
    with ModelServer(script) as model:
        printed = run("langgraph_agent.py", "--model", "a-model", **reaching(model))
    (transcript,) = blocks("text", page=ROOT / "docs/integrations/langgraph.md")
    assert printed == transcript.text
    body = model.requests[0].body
    assert body["model"] == "a-model"
    assert [tool["function"]["name"] for tool in body["tools"]] == ["move_budget", "read_budget"]
