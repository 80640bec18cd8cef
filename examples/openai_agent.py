"""An agent of the OpenAI Agents SDK that is given the few tools that fit its request.

    pip install '.[agents]'        (in a checkout of Quartermaster)
    export OPENAI_API_KEY=sk-...
    python openai_agent.py "is it going to rain on the ferry to Texel"

A model of your own: `export OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=none`, and --model its name.
"""

import argparse
import asyncio
import os
from collections.abc import Mapping
from typing import Any

from agents import Agent, Runner, set_default_openai_api, set_tracing_disabled

from quartermaster.adapters.openai_agents import function_tools
from router import RequestInvalid, Router


async def forecast(place: str, days: int = 1) -> dict[str, object]:
    """Forecast the weather of a place: rain, wind, temperature."""
    await asyncio.sleep(0)  # a real one would wait for its service here
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


async def run(request: str, model: str) -> None:
    """Route the request, give the agent those tools, and print what it did."""
    tools = [forecast, ferry_times, book_ferry, find_hotel, rent_bicycle]
    # Thousands of tools, read once and shared by many processes: Router.open(".quartermaster/snapshots/<catalog>").
    with Router.from_tools(tools) as router:

        def call(tool_id: str, arguments: Mapping[str, Any]) -> Any:
            """Call a function. Where its arguments are refused, the model reads why, and may try again."""
            try:
                return router.call(tool_id, arguments)
            except RequestInvalid as error:
                return f"refused: {error}"

        routed = await router.route_async(request, k=2)
        given = function_tools(routed, call)
        agent = Agent(name="travel desk", instructions="Use the tools; do not guess.", model=model, tools=given)
        result = await Runner.run(agent, request)
    print(f"asked   {request}")
    print(f"given   {', '.join(routed.ids)}, of {len(tools)} tools")
    for item in result.new_items:
        if item.type == "tool_call_output_item":
            print(f"tool    {item.output}")
    print(f"answer  {result.final_output}")


def main() -> None:
    """Read the command line, and run the agent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("request", nargs="?", default="what will the weather be like on Texel")
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))
    arguments = parser.parse_args()
    if "OPENAI_BASE_URL" in os.environ:
        set_default_openai_api("chat_completions")  # what servers other than OpenAI's speak
    set_tracing_disabled(True)  # traces would be sent to OpenAI
    asyncio.run(run(arguments.request, arguments.model))


if __name__ == "__main__":
    main()
