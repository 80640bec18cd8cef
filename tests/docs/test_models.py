"""The servers of docs/models.md are asked for the models that it names."""

import re
from pathlib import Path

import pytest

from tests.pipeline.enrichment.model_server import ModelServer
from tests.support.command_line import called
from tests.support.places import ROOT

_ROW = re.compile(r"^\| (?:OpenAI|vLLM|Ollama) \| [^|]+ \| `([^`]+)`", re.MULTILINE)
MODELS = _ROW.findall((ROOT / "docs" / "models.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("model", MODELS)
def test_a_model_of_the_page_is_asked_by_its_name_and_its_phrases_serve(model: str, tmp_path: Path) -> None:
    (tmp_path / "openapi.yaml").symlink_to(ROOT / "catalogs" / "demo" / "payments.openapi.yaml")
    with ModelServer() as server:
        variables = {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "sk-loopback",
            "QUARTERMASTER_ENRICHMENT__MODEL": model,
            "QUARTERMASTER_VECTORS__ENCODER": "none",
        }
        done = called(tmp_path, "build", "openapi.yaml", **variables)
    assert done.returncode == 0, done.stderr
    assert {request.body["model"] for request in server.requests} == {model}
    assert "by lexicon" not in done.stdout


def test_the_page_names_three_servers_with_their_models() -> None:
    assert len(MODELS) == 3
