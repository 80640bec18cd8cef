"""The recipes of docs/integrations/recipes.md, each against the real framework, over a chat model on loopback.

`make test-recipes` installs every framework into an environment of its own, and runs this file.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from quartermaster.serving.http import HttpSettings, app
from router import Router
from router.user_cache import CACHE_VARIABLE
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion
from tests.quartermaster.adapters.agent_model import calling, offered
from tests.quartermaster.serving.conftest import served_app
from tests.support.documents import blocks
from tests.support.places import ROOT

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(300)]

PAGE = ROOT / "docs" / "integrations" / "recipes.md"
ENVIRONMENTS = ROOT / ".venv-recipes"
IMPORTED = {
    "strands-agents": "from strands ",
    "agent-framework-openai": "from agent_framework ",
    "haystack-ai": "from haystack.",
    "crewai": "from crewai ",
    "smolagents": "from smolagents ",
}
# Nothing but the model's server is reached.
QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "true",
    "OTEL_SDK_DISABLED": "true",
}


def refund(body: Mapping[str, Any], count: int) -> Reply:
    """Call the tool without its argument, then with it, and answer with what it gave."""
    if count <= 2:
        return calling("create_refund", {"order": "7"} if count == 2 else {})
    if "final_answer" in [tool["function"]["name"] for tool in body["tools"]]:
        return calling("final_answer", {"answer": "It says: refunded 7"})
    return Reply(completion(f"It says: {body['messages'][-1]['content']}"))


def refund_in_sections(_: Mapping[str, Any], count: int) -> Reply:
    """Do the same in the sections of text that DSPy reads."""
    step = {"next_thought": "Refund it.", "next_tool_name": "create_refund" if count <= 2 else "finish"}
    step["next_tool_args"] = json.dumps({"order": "7"} if count == 2 else {})
    sections = step if count <= 3 else {"reasoning": "It is done.", "answer": "It says: refunded 7"}
    text = "".join(f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in sections.items())
    return Reply(completion(text + "[[ ## completed ## ]]"))


def recipe(imported: str, language: str = "python") -> str:
    """Return the one recipe of the page that has this import."""
    (found,) = [block.text for block in blocks(language, "recipe", PAGE) if imported in block.text]
    return found


def environment(name: str) -> Path:
    """Return the folder that a framework is installed in. Skips the test where it is not."""
    if not (folder := ENVIRONMENTS / name).exists():
        pytest.skip(f"{name} is not installed: make test-recipes installs it")
    return folder


def printed_by(command: list[str], model: ModelServer, folder: Path, **variables: str) -> str:
    """Return what a program prints that reaches this model."""
    reached = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-loopback"}
    home = {"HOME": str(folder), "PATH": os.environ["PATH"], CACHE_VARIABLE: os.devnull}  # ranks by words alone
    variables = {**home, **QUIET, **reached, **variables}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=variables, timeout=240)
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout


def in_python(name: str, imported: str, model: ModelServer, folder: Path) -> str:
    """Return what a recipe prints beside the page's own `desk.py`, the block without a mark."""
    python = environment(name) / "bin" / "python"
    (desk,) = blocks("python", "", PAGE)
    (folder / "desk.py").write_text(desk.text, encoding="utf-8")
    (folder / "agent.py").write_text(recipe(imported), encoding="utf-8")
    return printed_by([str(python), "agent.py"], model, folder)


@pytest.mark.parametrize("name", IMPORTED)
def test_an_agent_is_given_the_tool_that_fits_and_its_model_reads_what_the_tool_says(name: str, tmp_path: Path) -> None:
    with ModelServer(refund) as model:
        printed = in_python(name, IMPORTED[name], model, tmp_path)
    assert printed.splitlines()[-1] == "('create_refund',) It says: refunded 7"  # smolagents logs the refused call
    assert [set(names) - {"final_answer"} for names in offered(model)] == [{"create_refund"}] * 3
    refused, answered = (json.dumps(request.body["messages"][-1]) for request in model.requests[1:])
    assert "order" in refused and "refunded" not in refused
    assert "refunded 7" in answered


def test_a_program_of_dspy_is_given_the_tool_that_fits_and_its_model_reads_what_the_tool_says(tmp_path: Path) -> None:
    with ModelServer(refund_in_sections) as model:
        printed = in_python("dspy", "import dspy", model, tmp_path)
    assert printed == "('create_refund',) It says: refunded 7\n"
    told = [request.body["messages"][-1]["content"] for request in model.requests]
    assert "create_refund" in told[0]
    assert all("get_forecast" not in json.dumps(request.body["messages"]) for request in model.requests)
    assert "missing 1 required positional argument: 'order'" in told[1] and "refunded 7" not in told[1]
    assert "refunded 7" in told[2]


def test_a_program_of_the_ai_sdk_is_given_the_tool_that_fits_over_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = environment("ai-sdk") / "node_modules"
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tmp_path / "agent.ts").write_text(recipe("generateText", "typescript"), encoding="utf-8")
    checked = [str(modules / ".bin" / "tsc"), "--strict", "--skipLibCheck", "--types", "node"]
    checked += ["--target", "es2022", "--module", "nodenext", "agent.ts"]
    done = subprocess.run(checked, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    monkeypatch.setenv(CACHE_VARIABLE, os.devnull)
    (desk,) = blocks("python", "", PAGE)
    made: dict[str, Any] = {}
    exec(compile(desk.text, str(desk), "exec"), made)
    with ExitStack() as stack:
        router: Router = stack.enter_context(made["router"])
        port = stack.enter_context(served_app(app(router, HttpSettings())))
        model = stack.enter_context(ModelServer(refund))
        printed = printed_by(["node", "agent.js"], model, tmp_path, QUARTERMASTER_URL=f"http://127.0.0.1:{port}")
    assert printed == "[ 'create_refund' ] It says: refunded 7\n"
    assert offered(model) == [["create_refund"]] * 3
    refused, answered = (request.body["messages"][-1]["content"] for request in model.requests[1:])
    assert refused == "the argument 'order' is missing"
    assert answered == "refunded 7"
