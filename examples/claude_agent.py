"""An agent of the Claude Agent SDK that finds and calls tools through `quartermaster serve mcp`.

    pip install claude-agent-sdk        (it brings the program `claude`)
    export ANTHROPIC_API_KEY=sk-ant-...
    python claude_agent.py "write down that the milk is out" --serve "quartermaster serve mcp --catalog notes"

Whatever serves your catalog follows --serve. A model's server of your own: `export ANTHROPIC_BASE_URL=http://…`.
"""

import argparse
import asyncio
import shlex

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ResultMessage,
    SystemMessage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    query,
)
from claude_agent_sdk.types import McpStdioServerConfig


async def run(request: str, serve: list[str]) -> None:
    """Give the agent the router's three tools and no others, and print what it does."""
    quartermaster: McpStdioServerConfig = {"type": "stdio", "command": serve[0], "args": serve[1:]}
    options = ClaudeAgentOptions(
        mcp_servers={"quartermaster": quartermaster},
        allowed_tools=["mcp__quartermaster__*"],  # called without asking; leave call_tool out to be asked
        tools=[],  # none of Claude Code's own: no shell, no files
        strict_mcp_config=True,  # no server of the user's or the folder's settings
        setting_sources=[],
    )
    print(f"asked   {request}")
    async for message in query(prompt=request, options=options):
        if isinstance(message, SystemMessage) and message.subtype == "init":
            print(f"offered {', '.join(sorted(message.data['tools']))}")
        elif isinstance(message, AssistantMessage | UserMessage) and isinstance(message.content, list):
            for block in message.content:
                if isinstance(block, ToolUseBlock):
                    print(f"call    {block.name}({block.input})")
                elif isinstance(block, ToolResultBlock):
                    print(f"tool    {_text(block)}")
        elif isinstance(message, ResultMessage):
            print(f"answer  {message.result}")


def _text(block: ToolResultBlock) -> str:
    parts = block.content if isinstance(block.content, list) else [{"text": block.content}]
    return "\n        ".join(str(part.get("text", part)).replace("\n", "\n        ") for part in parts)


def main() -> None:
    """Read the command line, and run the agent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("request", nargs="?", default="write down that the milk is out")
    parser.add_argument("--serve", default="quartermaster serve mcp")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.request, shlex.split(arguments.serve)))


if __name__ == "__main__":
    main()
