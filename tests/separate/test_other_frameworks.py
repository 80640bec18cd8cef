"""The programs of docs/integrations/other_frameworks.md, each in the real framework, with a chat model on loopback.

`make test-frameworks` installs every framework into an environment of its own, and runs this file.
"""

import json
import os
import subprocess
from collections.abc import Mapping
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

PAGE = ROOT / "docs" / "integrations" / "other_frameworks.md"
ENVIRONMENTS = ROOT / ".venv-frameworks"
unmade = pytest.mark.skipif(not ENVIRONMENTS.exists(), reason="no environments of frameworks: make test-frameworks")
pytestmark = [unmade, pytest.mark.nightly]
# Nothing but the model's server is reached.
QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
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


PROGRAMS = {
    "strands-agents": ("from strands ", refund),
    "agent-framework-openai": ("from agent_framework ", refund),
    "haystack-ai": ("from haystack.", refund),
    "dspy": ("import dspy", refund_in_sections),
    "crewai": ("from crewai ", refund),
    "smolagents": ("from smolagents ", refund),
}


def printed_by(command: list[str], model: ModelServer, folder: Path, **variables: str) -> str:
    """Return what a program prints that reaches this model."""
    variables |= {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-loopback", **QUIET}
    variables |= {"HOME": str(folder), "PATH": os.environ["PATH"], CACHE_VARIABLE: os.devnull}  # ranks by words alone
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=variables, timeout=240)
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout


def write(folder: Path, name: str, imported: str, language: str) -> None:
    """Write the one program of the page that has this import."""
    (found,) = [block.text for block in blocks(language, "framework", PAGE) if imported in block.text]
    (folder / name).write_text(found, encoding="utf-8")


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_agent_is_given_the_tool_that_fits_and_its_model_reads_what_the_tool_says(name: str, tmp_path: Path) -> None:
    imported, script = PROGRAMS[name]
    python = ENVIRONMENTS / name / "bin" / "python"
    (tmp_path / "desk.py").write_text(blocks("python", "", PAGE)[0].text, encoding="utf-8")
    write(tmp_path, "agent.py", imported, "python")
    with ModelServer(script) as model:
        printed = printed_by([str(python), "agent.py"], model, tmp_path)
    assert printed.splitlines()[-1] == "('create_refund',) It says: refunded 7"  # smolagents logs the refused call
    asked = [json.dumps(request.body) for request in model.requests]
    assert all("create_refund" in body and "get_forecast" not in body for body in asked[:3])
    first, refused, answered, *_ = (json.dumps(request.body["messages"][-1]) for request in model.requests)
    assert "order" in refused and ("missing" in refused or "required" in refused) and "refunded 7" not in refused
    assert "refunded 7" in answered and "refunded" not in first


def test_a_program_of_the_ai_sdk_is_given_the_tool_that_fits_over_http(tmp_path: Path) -> None:
    modules = ENVIRONMENTS / "ai-sdk" / "node_modules"
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    write(tmp_path, "agent.ts", "generateText", "typescript")
    checked = [str(modules / ".bin" / "tsc"), "--strict", "--skipLibCheck", "--types", "node"]
    checked += ["--target", "es2022", "--module", "nodenext", "agent.ts"]
    done = subprocess.run(checked, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    described = {
        "create_refund": "Give a customer the money of an order back.",
        "get_forecast": "Forecast the weather.",
    }
    tools = [{"name": name, "description": text, "inputSchema": {"type": "object"}} for name, text in described.items()]
    router = Router.from_tools(tools, encoder=None)
    with router, served_app(app(router, HttpSettings())) as port, ModelServer(refund) as model:
        printed = printed_by(["node", "agent.js"], model, tmp_path, QUARTERMASTER_URL=f"http://127.0.0.1:{port}")
    assert printed == "[ 'create_refund' ] It says: refunded 7\n"
    assert offered(model) == [["create_refund"]] * 3
    told = [request.body["messages"][-1]["content"] for request in model.requests[1:]]
    assert told == ["the argument 'order' is missing", "refunded 7"]
