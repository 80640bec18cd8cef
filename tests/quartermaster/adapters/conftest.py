"""What the tests of the adapters share: a router of words alone, and a chat model's server on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from router import Router
from tests.pipeline.enrichment.model_server import ModelServer
from tests.quartermaster.adapters.agent_model import call_the_first_tool
from tests.support.event_loops import own_event_loop


@pytest.fixture(autouse=True)
def event_loop_of_its_own() -> Iterator[None]:
    with own_event_loop():
        yield


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A chat model that calls the first tool that it is offered, and then answers."""
    with ModelServer(call_the_first_tool) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
        yield server


@pytest.fixture(scope="session")
def router(catalog_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Router:
    """A router over the eight tools of `catalog_folder` that needs no encoder."""
    from pipeline.build import build
    from pipeline.settings import load

    settings = load(catalog_folder, {"vectors": {"encoder": "none"}}, environment={})
    return Router.open(build(settings, workspace=tmp_path_factory.mktemp("words")).snapshot)
