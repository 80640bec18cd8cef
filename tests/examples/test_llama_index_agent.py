"""examples/llama_index_agent.py: an agent of LlamaIndex over a chat model's server."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.examples.conftest import Run, reaching
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion
from tests.router.adapters.agent_model import calling
from tests.support.documents import blocks
from tests.support.places import ROOT

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")


def script(body: Mapping[str, Any], _: int) -> Reply:
    """Call the tool that a sensible model would call, then say what it gave."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        return Reply(completion(f"It says: {last['content']}"))
    return calling("check_insurance", {"boat": "Jolie", "month": "January"})


def test_the_agent_is_given_the_tools_that_fit_and_the_page_shows_this_run(run: Run) -> None:
    with ModelServer(script) as model:
        # LlamaIndex reads deprecated attributes of its own models while it looks for an agent's steps.
        ignoring = "ignore::DeprecationWarning"
        printed = run("llama_index_agent.py", "--model", "a-model", ignoring=ignoring, **reaching(model))
    (transcript, *_) = blocks("text", page=ROOT / "docs/integrations/llama_index.md")
    assert printed == transcript.text
    assert [request.body["model"] for request in model.requests] == ["a-model"] * 2
