"""examples/langgraph_agent.py: an agent of LangGraph over a chat model's server."""

import pytest

from tests.examples.conftest import Run, reaching
from tests.pipeline.enrichment.model_server import ModelServer

pytest.importorskip("langgraph", reason="the extra langgraph is not installed")


def test_the_agent_is_given_the_tools_that_fit_and_calls_the_function(run: Run, chat_model: ModelServer) -> None:
    printed = run("langgraph_agent.py", "--model", "a-model", **reaching(chat_model))
    assert "move_budget, read_budget, of 5 tools" in printed
    assert "move_budget({'source': 'some', 'target': 'some', 'euros': 1.5})" in printed
    assert printed.splitlines()[-1].split(maxsplit=1) == ["ai", 'It says: {"some":0.0}']
    body = chat_model.requests[0].body
    assert body["model"] == "a-model"
    assert [tool["function"]["name"] for tool in body["tools"]] == ["move_budget", "read_budget"]
