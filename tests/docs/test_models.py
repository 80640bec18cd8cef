"""The servers of docs/models.md are asked for the models that it names."""

import re
from pathlib import Path

import pytest

from tests.pipeline.enrichment.model_server import ModelServer
from tests.support.command_line import called
from tests.support.places import ROOT

_ROW = re.compile(r"^\| (?:OpenAI|vLLM|Ollama) \| [^|]+ \| `([^`]+)`", re.MULTILINE)


@pytest.mark.nightly
def test_the_models_of_the_page_are_asked_by_their_names_and_their_phrases_serve(tmp_path: Path) -> None:
    models = _ROW.findall((ROOT / "docs" / "models.md").read_text(encoding="utf-8"))
    assert len(models) == 3
    (tmp_path / "openapi.yaml").symlink_to(ROOT / "catalogs" / "demo" / "payments.openapi.yaml")
    for model in models:
        with ModelServer() as server:
            variables = {
                "OPENAI_BASE_URL": server.base_url,
                "OPENAI_API_KEY": "sk-loopback",
                "QUARTERMASTER_ENRICHMENT__MODEL": model,
                "QUARTERMASTER_VECTORS__ENCODER": "none",
            }
            done = called(
                tmp_path, "build", "openapi.yaml", "--workspace", tmp_path / model.replace("/", "-"), **variables
            )
        assert done.returncode == 0, done.stderr
        assert {request.body["model"] for request in server.requests} == {model}
        assert "by lexicon" not in done.stdout
