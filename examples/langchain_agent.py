"""A LangChain agent with five tools, given the few that fit each message of a dialogue of three.

    pip install '.[langchain]' langchain-openai        (in a checkout of Quartermaster)
    export OPENAI_API_KEY=sk-...
    python langchain_agent.py "how full is the battery" "sell what is left of the solar power"

A model of your own: `export OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=none`, and --model its name.
Any other chat model of LangChain that has `bind_tools` works too: replace `ChatOpenAI`.
"""

import argparse
import os
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from quartermaster.adapters.langchain import RouterMiddleware
from router import Router

REQUESTS = ["how full is the battery", "heat the water tank to 55 degrees", "and what about the battery tonight"]


@tool
def battery_level(hour: int) -> str:
    """Say how full the battery of the house is."""
    return f"{90 - 2 * hour} %"


@tool
def heat_water(degrees: int) -> str:
    """Heat the water tank."""
    return f"heating to {degrees} °C"


@tool
def charge_car(percent: int) -> str:
    """Charge the car."""
    return f"charging to {percent} %"


@tool
def sell_power(kilowatt_hours: float) -> str:
    """Sell solar power to the grid."""
    return f"sold {kilowatt_hours} kWh"


@tool
def read_meter(month: str) -> str:
    """Read how much electricity was used."""
    return f"{month}: 212 kWh"


class Show(AgentMiddleware[Any, Any, Any]):
    """Print the tools of each call of the model. It stands behind the router's middleware, so it sees its choice."""

    def wrap_model_call(self, request: ModelRequest[Any], handler: Any) -> ModelResponse[Any]:
        """Print the tools' names, then call the model."""
        print(f"  bound   {', '.join(tool.name for tool in request.tools if isinstance(tool, BaseTool))}")
        response: ModelResponse[Any] = handler(request)
        return response


def main() -> None:
    """Run the dialogue, and print what the model was given, called and said."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("requests", nargs="*", default=REQUESTS)
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))
    arguments = parser.parse_args()

    tools = [battery_level, heat_water, charge_car, sell_power, read_meter]
    # Thousands of tools, read once and shared by many processes: Router.open(".quartermaster/snapshots/<catalog>").
    with Router.from_tools(tools) as router:
        middleware = [RouterMiddleware(router, k=1), Show()]
        agent = create_agent(
            ChatOpenAI(model=arguments.model), tools, middleware=middleware, checkpointer=InMemorySaver()
        )
        for request in arguments.requests:
            print(f"asked   {request}")
            said = HumanMessage(request)
            state = agent.invoke({"messages": [said]}, {"configurable": {"thread_id": "home"}})
            for message in state["messages"][state["messages"].index(said) + 1 :]:
                for call in message.tool_calls if isinstance(message, AIMessage) else ():
                    print(f"  calls   {call['name']}({call['args']})")
            print(f"  answer  {state['messages'][-1].text}")


if __name__ == "__main__":
    main()
