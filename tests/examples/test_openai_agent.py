"""examples/openai_agent.py: an agent of the OpenAI Agents SDK over a chat model's server."""

from typing import Any

import pytest

from tests.examples.conftest import Run, reaching
from tests.pipeline.enrichment.model_server import ModelServer, Reply
from tests.router.adapters.agent_model import call_the_first_tool, calling, required_of

pytest.importorskip("agents", reason="the extra agents is not installed")


def forget_the_arguments_first(body: dict[str, Any], count: int) -> Reply:
    """Call the first tool without arguments, then with those that it requires, then answer."""
    tool = body["tools"][0]["function"]
    arguments = required_of(tool["parameters"]) if count == 2 else {}
    return call_the_first_tool(body) if count == 3 else calling(tool["name"], arguments)


def test_the_agent_reads_why_a_call_was_refused_and_then_awaits_the_function(run: Run) -> None:
    with ModelServer(forget_the_arguments_first) as model:
        printed = run("openai_agent.py", "what will the weather be", OPENAI_MODEL="a-model", **reaching(model))
    assert printed.splitlines() == [
        "asked   what will the weather be",
        "given   forecast, of 5 tools",
        "tool    refused: forecast: the argument 'place' is missing",
        'tool    {"place":"some","days":1,"rain":false,"wind_kn":14}',
        'answer  It says: {"place":"some","days":1,"rain":false,"wind_kn":14}',
    ]
    assert [request.body["model"] for request in model.requests] == ["a-model"] * 3
