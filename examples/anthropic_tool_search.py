"""A loop over Anthropic's Messages API that sends one tool, the search, and loads others as the model finds them.

    pip install . anthropic        (in a checkout of Quartermaster)
    export ANTHROPIC_API_KEY=sk-ant-...
    python anthropic_tool_search.py "is it going to rain on the ferry to Texel"

The model searches by itself. What it finds is loaded at the place of the search, so the prompt cache holds.
"""

import argparse
import os
from collections.abc import Mapping
from typing import Any

from anthropic import Anthropic

from quartermaster.adapters.anthropic import AnthropicToolSearch
from router import Router, Selection


def forecast(place: str, days: int = 1) -> dict[str, object]:
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


def note(text: str) -> str:
    """Keep a note of what was agreed."""
    return f"noted: {text}"


def run(request: str, model: str) -> None:
    """Go on until the model calls no tool, and print what it did."""
    client = Anthropic()
    messages: list[Any] = [{"role": "user", "content": request}]
    print(f"asked   {request}")
    # Thousands of tools, read once and shared by many processes: Router.open(".quartermaster/snapshots/<catalog>").
    with Router.from_tools([forecast, ferry_times, book_ferry, find_hotel, note]) as router:
        search = AnthropicToolSearch(router, k=2, selection=Selection(always=("note",)))
        while True:
            tools: list[Any] = search.tools(messages)
            print(f"sent    {', '.join(map(shown, tools))}")
            reply = client.messages.create(
                model=model, max_tokens=1024, messages=messages, tools=tools, cache_control={"type": "ephemeral"}
            )
            messages.append({"role": "assistant", "content": reply.content})
            print(
                f"tokens  {reply.usage.cache_read_input_tokens} cached, {reply.usage.cache_creation_input_tokens} new"
            )
            if not (answers := search.answers(reply.content, router.call)):
                break
            messages.append({"role": "user", "content": answers})
            calls = [block for block in reply.content if block.type == "tool_use"]
            for use, result in zip(calls, answers, strict=True):
                content = result["content"]
                loaded = [block["tool_name"] for block in content] if isinstance(content, list) else []
                print(f"called  {use.name} {use.input}")
                print(f"result  {'loads ' + ', '.join(loaded) if loaded else content}")
    print(f"answer  {''.join(block.text for block in reply.content if block.type == 'text')}")


def shown(tool: Mapping[str, Any]) -> str:
    """Return a tool in a word or two."""
    return f"{tool['name']} (deferred)" if tool.get("defer_loading") else tool["name"]


def main() -> None:
    """Read the command line, and run the loop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("request", nargs="?", default="what will the weather be like on Texel")
    parser.add_argument("--model", default=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5"))
    arguments = parser.parse_args()
    run(arguments.request, arguments.model)


if __name__ == "__main__":
    main()
