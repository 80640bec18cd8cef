"""examples/pydantic_ai_agent.py: a dialogue with an agent of pydantic-ai over a strict chat model's server."""

import pytest

from tests.examples.conftest import Run, reaching
from tests.examples.travelling_model import REQUESTS, travel
from tests.pipeline.enrichment.model_server import ModelServer
from tests.support.places import ROOT
from tests.support.providers.chat_completions import strict

pytest.importorskip("pydantic_ai", reason="the extra pydantic-ai is not installed")


def test_the_agent_is_given_the_tools_of_each_message_and_those_that_it_searched(run: Run) -> None:
    with ModelServer(strict(travel)) as model:
        printed = run("pydantic_ai_agent.py", *REQUESTS, OPENAI_MODEL="a-model", **reaching(model))
    page = (ROOT / "docs" / "integrations" / "pydantic_ai.md").read_text(encoding="utf-8")
    assert f"```text\n{printed}```" in page
    assert {request.body["model"] for request in model.requests} == {"a-model"}
