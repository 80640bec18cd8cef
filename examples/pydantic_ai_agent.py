"""An agent of pydantic-ai that is given the few tools that fit each message of a dialogue, and searches for others.

    pip install '.[pydantic-ai]'        (in a checkout of Quartermaster)
    export OPENAI_API_KEY=sk-...
    python pydantic_ai_agent.py "what will the weather be on Texel" "when do the ferries of Den Helder leave"

A model of your own: `export OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=none`, and --model its name.
"""

import argparse
import os
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.toolsets import ToolsetTool

from quartermaster.adapters.pydantic_ai import RouterToolset
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


class ShownToolset(RouterToolset):
    """A toolset that prints which tools each request to the model has."""

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """Return the tools of a step, and print their names."""
        tools = await super().get_tools(ctx)
        print(f"given   {', '.join(tools)}")
        return tools


def talk(requests: list[str], model: str) -> None:
    """Ask the agent one message after the other, and print what it did."""
    tools = [forecast, ferry_times, book_ferry, find_hotel, rent_bicycle]
    # Thousands of tools, read once and shared by many processes: Router.open(".quartermaster/snapshots/<catalog>").
    with Router.from_tools(tools, encoder=None) as router:  # five tools are found by their words
        toolset = ShownToolset(router, router.call, k=1, search=True)
        agent = Agent(OpenAIChatModel(model), instructions="Use the tools; do not guess.", toolsets=[toolset])
        history: list[ModelMessage] = []
        for request in requests:
            print(f"asked   {request}")
            result = agent.run_sync(request, message_history=history)
            history = result.all_messages()
            for output in _outputs(result.new_messages()):
                print(f"tool    {output}")
            print(f"answer  {result.output}")


def _outputs(messages: list[ModelMessage]) -> list[Any]:
    return [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


def main() -> None:
    """Read the command line, and talk."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("requests", nargs="*", default=["what will the weather be on Texel"])
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))
    arguments = parser.parse_args()
    talk(arguments.requests, arguments.model)


if __name__ == "__main__":
    main()
