"""A small catalog that is built again and again, without an encoder."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.settings import load
from tests.pipeline.enrichment.model_server import ModelServer
from tests.support.quick import QUICK
from tests.support.rows import write_rows


class Shop:
    """A folder of JSONL and its workspace. `snapshot` is the newest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shop"
        self.workspace = folder / "ws"
        self.folder.mkdir(parents=True)

    def build(
        self,
        *rows: dict[str, Any],
        expansions: list[dict[str, Any]] | None = None,
        server: ModelServer | None = None,
        area: str = "snapshots",
        force: bool = False,
        **sections: dict[str, Any],
    ) -> Path:
        """Build these tools, the model of `server` writing where there is one, and return the snapshot's folder."""
        for name, lines in (("tools.jsonl", rows), ("expansions.jsonl", expansions or ())):
            write_rows(self.folder / name, lines)
        enrichment = {"generator": "none"}
        if server is not None:
            enrichment = {**server.settings().model_dump(exclude_unset=True), "generator": "openai"}
        chosen: dict[str, dict[str, Any]] = {
            **QUICK,
            "publish": {"max_failed_share": 1},
            "enrichment": {**enrichment, **sections.pop("enrichment", {})},
            **sections,
        }
        settings = load(self.folder, chosen, environment={})
        return build(settings, workspace=self.workspace, area=area, force=force).snapshot


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def tool(tool_id: str, description: str = "Does what the shop needs it to do.", **fields: Any) -> dict[str, Any]:
    """A line of tools.jsonl; what stands before the slash is its provider."""
    provider, _, name = tool_id.rpartition("/")
    return {"id": tool_id, "name": name, "provider": provider or None, "description": description, **fields}


def words(tool_id: str, *phrases: str) -> dict[str, Any]:
    """A line of expansions.jsonl."""
    return {"id": tool_id, "user_phrases": phrases or [f"please do {tool_id}"]}
