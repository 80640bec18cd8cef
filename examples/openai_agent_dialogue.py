"""An agent of the OpenAI Agents SDK whose tools are chosen anew for each message of a dialogue, and searched by it.

    pip install '.[agents]'        (in a checkout of Quartermaster)
    export OPENAI_API_KEY=sk-...
    python openai_agent_dialogue.py "what will the weather be on Texel" "when do the ferries of Den Helder leave"

A model of your own: `export OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=none`, and --model its name.
"""

import argparse
import asyncio
import os
from typing import Any

from agents import (
    Agent,
    AgentBase,
    RunConfig,
    RunContextWrapper,
    Runner,
    SQLiteSession,
    set_default_openai_api,
    set_tracing_disabled,
)
from mcp.types import Tool

from quartermaster.adapters.openai_agents import RouterServer, SearchContext
from router import Router


async def forecast(place: str, days: int = 1) -> dict[str, object]:
    """Forecast the weather of a place: rain, wind, temperature."""
    return {"place": place, "days": days, "rain": False, "wind_kn": 14}


def ferry_times(harbour: str) -> list[str]:
    """List when the ferries of a harbour leave today."""
    return [f"{harbour} 09:30", f"{harbour} 10:30"]


def book_ferry(departure: str, people: int, car: bool = False) -> str:
    """Book places on a ferry."""
    return f"{people} on {departure}{' with a car' if car else ''}"


def find_hotel(place: str, nights: int) -> list[str]:
    """Find hotels with free rooms."""
    return [f"Hotel Lodge, {place}, {nights} nights"]


def rent_bicycle(place: str, people: int) -> str:
    """Rent bicycles."""
    return f"{people} bicycles in {place}"


class ShownServer(RouterServer):
    """A server that prints which tools each call of the model has."""

    async def list_tools(
        self, run_context: RunContextWrapper[Any] | None = None, agent: AgentBase[Any] | None = None
    ) -> list[Tool]:
        """Return the tools for the messages of a run, and print their names."""
        tools = await super().list_tools(run_context, agent)
        print(f"given   {', '.join(tool.name for tool in tools)}")
        return tools


async def talk(requests: list[str], model: str) -> None:
    """Ask the agent one message after the other, and print what it did."""
    tools = [forecast, ferry_times, book_ferry, find_hotel, rent_bicycle]
    # Thousands of tools, read once and shared by many processes: Router.open(".quartermaster/snapshots/<catalog>").
    with Router.from_tools(tools, encoder=None) as router:  # five tools are found by their words
        server = ShownServer(router, router.call, k=1)
        instructions = "Use the tools; do not guess."
        agent = Agent[SearchContext](
            "travel desk", instructions=instructions, model=model, mcp_servers=[server], tools=[server.search_tool]
        )
        session = SQLiteSession("travel")
        config = RunConfig(tool_not_found_behavior="return_error_to_model")  # models invent names
        for request in requests:
            print(f"asked   {request}")
            result = await Runner.run(agent, request, session=session, context=SearchContext(), run_config=config)
            for item in result.new_items:
                if item.type == "tool_call_output_item":
                    print(f"tool    {item.output['text'] if isinstance(item.output, dict) else item.output}")
            print(f"answer  {result.final_output}")
        session.close()


def main() -> None:
    """Read the command line, and talk."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("requests", nargs="*", default=["what will the weather be on Texel"])
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))
    arguments = parser.parse_args()
    if "OPENAI_BASE_URL" in os.environ:
        set_default_openai_api("chat_completions")  # what servers other than OpenAI's speak
    set_tracing_disabled(True)  # traces would be sent to OpenAI
    asyncio.run(talk(arguments.requests, arguments.model))


if __name__ == "__main__":
    main()
