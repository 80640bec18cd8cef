"""An MCP client that finds tools at `quartermaster serve mcp`, and calls them through it.

    pip install '.[build,serve]'        (in a checkout of Quartermaster)
    python client.py

Copy the whole folder: catalog.toml names notes_server.py, whose tools are found and called here. An agent in an editor
is such a client too: give it the command that `main` starts.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from pipeline.build import build
from pipeline.settings import load

HERE = Path(__file__).parent
WORKSPACE = Path(os.environ.get("QUARTERMASTER_WORKSPACE", ".quartermaster")).resolve()


async def call(client: Client, tool: str, **arguments: Any) -> str:
    """Call one of the server's three tools. Print the call and its result, and return the text of the result."""
    result = await client.call_tool(tool, arguments)
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    print(f"{tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})")
    print("    " + text.replace("\n", "\n    "))
    if result.is_error:
        raise RuntimeError(text)  # a model would read it and try again
    return text


async def best_tool(client: Client, request: str) -> str:
    """Return the id of the first tool that is found: a line for each, such as `notes/write_note(text: string) — …`."""
    text = await call(client, "find_tools", request=request, k=2)
    return next(line for line in text.splitlines() if "(" in line).partition("(")[0]


async def talk(command: StdioServerParameters) -> None:
    """Do what an agent does: find a tool, look at its schema, call it."""
    async with Client(command) as client:
        tools = await client.list_tools()
        print("the server offers", ", ".join(tool.name for tool in tools.tools), "\n")

        write = await best_tool(client, "write down that the milk is out")
        await call(client, "describe_tool", tool_id=write)
        await call(client, "call_tool", tool_id=write, arguments={"text": "The milk is out."})

        read = await best_tool(client, "read me my notes")
        await call(client, "call_tool", tool_id=read, arguments={"containing": "milk"})


def main() -> None:
    """Build the catalog, then talk to the server that serves it."""
    report = build(load(HERE), workspace=WORKSPACE)  # as `quartermaster build mcp_client`
    print(f"{report.counts['tools']} tools in {report.snapshot.name}")
    # quartermaster serve mcp --workspace … --catalog notes --catalog-folder …, by this Python.
    serve = ["serve", "mcp", "--workspace", str(WORKSPACE), "--catalog", "notes", "--catalog-folder", str(HERE)]
    serve += ["--allow-commands"]  # of this catalog: it starts notes_server.py
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "quartermaster", *serve],
        env=dict(os.environ),  # by default the SDK passes on only a few variables
    )
    asyncio.run(talk(command))


if __name__ == "__main__":
    main()
