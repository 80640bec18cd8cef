"""Pages over a catalog of strangers: what they wrote, served by uvicorn on loopback."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from router import Router
from tests.quartermaster.serving.conftest import served_app
from tests.support.factories import TOOLS, expansion_row
from tests.support.quick import QUICK


@pytest.fixture(scope="session")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshot of a catalog whose vendors write what should hurt a page; without vectors, which it needs not."""
    from pipeline.build import build
    from pipeline.settings import load

    folder = tmp_path_factory.mktemp("hostile") / "strangers"
    folder.mkdir()
    script = "<script>document.title='owned'</script>"
    tools = [
        {
            "id": '"><img src=x onerror=alert(1)>',
            "name": script,
            "provider": "javascript:alert(1)",
            "description": f"</p>{script} refund \u202e reversed \u0000 [x](javascript:alert(1)) {{{{ 7 * 7 }}}}",
            "parameters": {
                "type": "object",
                "properties": {script: {"type": "string", "description": script, "enum": ["</td>", "'\""]}},
            },
            "category": script,
            "examples": [script],
        },
        {**TOOLS[1], "id": "../../healthz", "description": "refund " + "W" * 900_000},
    ]
    (folder / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in tools), encoding="utf-8")
    rows = ({**expansion_row(TOOLS[1]), "id": tool["id"], "user_phrases": ["refund </td>it", script]} for tool in tools)
    (folder / "expansions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    settings = load(folder, {**QUICK, "publish": {"max_failed_share": 1.0}}, environment={})
    workspace = tmp_path_factory.mktemp("hostile-workspace")
    build(settings, workspace=workspace)
    return workspace / "snapshots" / "strangers"


@pytest.fixture(scope="module")
def address(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over the run's snapshot, which takes in suggestions and reports."""
    from quartermaster.cli.commands.serve import open_inspection
    from quartermaster.serving.http import HttpSettings, app
    from router import FeedbackLog

    folder = tmp_path_factory.mktemp("visitors")
    settings = HttpSettings(suggestions=folder / "suggestions.jsonl")
    log = FeedbackLog(folder / "feedback")
    with (
        Router.open(snapshot, feedback=log) as router,
        served_app(app(router, settings, inspect=open_inspection)) as port,
    ):
        yield f"http://127.0.0.1:{port}"
