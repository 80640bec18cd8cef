"""A loop on OpenAI's Responses API whose model searches for its tools, and calls what it found.

    pip install . openai        (in a checkout of Quartermaster)
    export OPENAI_API_KEY=sk-...
    python openai_tool_search.py "is it going to rain on Texel" "then book the ferry"

The prompt holds one tool, the search. What a search finds is added at the end of the dialogue, so that the provider's
prompt cache holds. Models from gpt-5.4 on can search.
"""

import argparse
import os
from typing import Any

from openai import OpenAI

from quartermaster.adapters.openai_responses import ResponsesToolSearch
from router import Router

REQUESTS = ["what will the weather be like on Texel", "when do the ferries leave"]


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


def rent_bicycle(place: str, people: int) -> str:
    """Rent bicycles."""
    return f"{people} bicycles in {place}"


def show(items: list[Any]) -> None:
    """Print what the router adds to a dialogue."""
    for item in items:
        if item["type"] == "tool_search_output":
            print(f"found   {', '.join(tool['name'] for tool in item['tools']) or 'nothing new'}")
        elif item["type"] == "function_call_output":
            print(f"tool    {item['output']}")


def main() -> None:
    """Read the command line, and run one turn for each request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("request", nargs="*", default=REQUESTS)
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL", "gpt-5.4"))
    arguments = parser.parse_args()
    # Thousands of tools, read once and shared by many processes: Router.open(".quartermaster/snapshots/<catalog>").
    with OpenAI() as client, Router.from_tools([forecast, ferry_times, book_ferry, find_hotel, rent_bicycle]) as router:
        search = ResponsesToolSearch(router, k=2)
        items: list[Any] = []
        for request in arguments.request:
            print(f"asked   {request}")
            items.append({"role": "user", "content": request})
            while True:
                response = client.responses.create(model=arguments.model, tools=search.tools, input=items)
                answers = search.answers(response.output, router.call, history=items)
                items += [*response.output, *answers]
                if not answers:
                    break
                show(answers)
            print(f"answer  {response.output_text}")


if __name__ == "__main__":
    main()
