"""Visit the MCP server in front of five servers of the package indexes, with a slow, a dead and a hostile one.

python -m tests.separate.mcp_gateway FOLDER

Three of the five are installed into FOLDER by npm (Node 20 or newer); mcp-server-time and mcp-server-git come with the
extra `catalogs`. None needs the network once it is installed. Prints the transcript and fails where an answer is wrong.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from pipeline.build import build
from pipeline.settings import load
from quartermaster.serving.mcp import Upstream
from router import Router
from tests.quartermaster.serving.mcp.conftest import plain
from tests.support.gateway import visit

_PACKAGES = {name: f"@modelcontextprotocol/server-{name}" for name in ("everything", "filesystem", "memory")}
_VERSION = "2026.8.31"
_EXPECTED = (
    '"timezone": "Asia/Tokyo"',
    "Repository status: On branch main",
    "Long running operation completed. Duration: 1 seconds, Steps: 4.",
    "✅ User provided the requested information!",
    "LLM sampling result:",
    "Buy milk.",
    '"name": "Ada"',
    "! call_tool failed: the MCP server 'hostile' was ended: it sent a message of more than 100,000 bytes",
    "(asked) The MCP server 'everything' asks: Please provide inputs",
    "(asked) The MCP server 'everything' asks for this.",
    "(progress) 4 of 4",
)


def main() -> None:
    """Install, visit, print and check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the servers are installed, and work")
    folder: Path = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    install(folder)
    transcript = "\n".join(asyncio.run(visited(folder))).replace(str(folder), "…")
    print(transcript)
    if missing := [expected for expected in _EXPECTED if expected not in transcript]:
        sys.exit(f"missing in the transcript: {missing}")


def install(folder: Path) -> None:
    """Install the three servers of npm, unless they are there."""
    if not all((folder / "node_modules" / package).is_dir() for package in _PACKAGES.values()):
        wanted = [f"{package}@{_VERSION}" for package in _PACKAGES.values()]
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *wanted]
        subprocess.run(command, check=True)


async def visited(folder: Path) -> list[str]:
    """Return the transcript of a visit to all eight servers."""
    documents, repository = folder / "documents", folder / "repository"
    documents.mkdir(exist_ok=True)
    (documents / "list.txt").write_text("Buy milk.", encoding="utf-8")
    (folder / "memory.jsonl").unlink(missing_ok=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)

    def of_npm(name: str, *arguments: str, **environment: str) -> Upstream:
        program = folder / "node_modules" / _PACKAGES[name] / "dist" / "index.js"
        return Upstream(name, command=("node", str(program), *arguments), provider=name, environment=environment)

    upstreams = [
        Upstream("time", command=("mcp-server-time", "--local-timezone", "UTC"), provider="time"),
        Upstream("git", command=("mcp-server-git", "--repository", str(repository)), provider="git"),
        of_npm("everything"),
        of_npm("filesystem", str(documents)),
        of_npm("memory", MEMORY_FILE_PATH=str(folder / "memory.jsonl")),
        replace(plain("silent", timeout_s=2.0), name="slow", provider="slow"),
        Upstream("dead", command=("no-such-program",), provider="dead"),
        replace(plain("flood"), name="hostile", provider="hostile", max_message_bytes=100_000),
    ]
    ada = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes tea"]}]}
    noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    with Router.open(_empty(folder)) as router:
        lines = await visit(
            router,
            upstreams,
            ["convert a time to another time zone", "status of the git repository", "create entities to remember"],
            [
                ("time/convert_time", noon),
                ("git/git_status", {"repo_path": str(repository)}),
                ("filesystem/read_text_file", {"path": str(documents / "list.txt")}),
                ("memory/create_entities", ada),
                ("everything/trigger-long-running-operation", {"duration": 1, "steps": 4}),
                ("hostile/echo", {}),
            ],
        )
        # A server of the 2025 protocol over stdio may ask only while nothing else is under way there.
        for name, arguments in (
            ("trigger-elicitation-request", {}),
            ("trigger-sampling-request", {"prompt": "2+2?", "maxTokens": 9}),
        ):
            lines += await visit(router, upstreams[2:3], [], [(f"everything/{name}", arguments)])
        return lines


def _empty(folder: Path) -> Path:
    """Return a snapshot of one tool: all others come from the servers."""
    catalog = folder / "catalog"
    catalog.mkdir(exist_ok=True)
    tool = {"id": "note/none", "name": "none", "provider": "note", "description": "Does nothing."}
    (catalog / "tools.jsonl").write_text(f"{json.dumps(tool)}\n", encoding="utf-8")
    settings = load(catalog, {"vectors": {"encoder": "none"}}, environment={})
    return build(settings, workspace=folder / "workspace").snapshot


if __name__ == "__main__":
    main()
