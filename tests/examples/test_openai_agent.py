"""examples/openai_agent.py: an agent of the OpenAI Agents SDK over a chat model's server."""

import pytest

from tests.examples.conftest import Run, reaching
from tests.pipeline.enrichment.model_server import ModelServer

pytest.importorskip("agents", reason="the extra agents is not installed")


def test_the_agent_is_given_the_tools_that_fit_and_awaits_the_function(run: Run, chat_model: ModelServer) -> None:
    printed = run("openai_agent.py", "which ferries leave the harbour", OPENAI_MODEL="a-model", **reaching(chat_model))
    assert "asked   which ferries leave the harbour\ngiven   ferry_times" in printed
    assert printed.splitlines()[-1] == 'answer  It says: ["some 09:30","some 10:30"]'
    assert {request.body["model"] for request in chat_model.requests} == {"a-model"}
