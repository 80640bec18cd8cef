"""A LangGraph agent that is given the few tools that fit, chosen again whenever the user speaks.

    pip install '.[langgraph]' langchain-openai        (in a checkout of Quartermaster)
    export OPENAI_API_KEY=sk-...
    python langgraph_agent.py "put 40 euros of the phone bill on the travel budget"

A model of your own: `export OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=none`, and --model its name.
Any other chat model of LangChain that has `bind_tools` works too: replace `ChatOpenAI`.
"""

import argparse
import os

from langchain_core.messages import AIMessage, AnyMessage
from langchain_openai import ChatOpenAI

from quartermaster.adapters.langgraph import create_agent
from router import Router

BALANCES = {"travel": 300.0, "phone": 120.0, "training": 900.0}


def move_budget(source: str, target: str, euros: float) -> dict[str, float]:
    """Move money from one budget to another, and return both balances."""
    BALANCES[source] = BALANCES.get(source, 0.0) - euros
    BALANCES[target] = BALANCES.get(target, 0.0) + euros
    return {source: BALANCES[source], target: BALANCES[target]}


def read_budget(name: str) -> float:
    """Say how much money is left in a budget."""
    return BALANCES.get(name, 0.0)


def approve_invoice(invoice: str) -> str:
    """Approve an invoice, so that it is paid."""
    return f"{invoice} is approved"


def book_room(people: int, hour: int) -> str:
    """Book a meeting room for some people at an hour of today."""
    return f"room for {people} at {hour}:00"


def invite_guest(name: str) -> str:
    """Announce a guest at the reception."""
    return f"{name} is expected"


def show(message: AnyMessage) -> None:
    """Print a message of the run: who says it, and what; a tool call with its arguments."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    for call in calls:
        print(f"{'calls':>6}  {call['name']}({call['args']})")
    if not calls:
        print(f"{message.type:>6}  {message.text}")


def main() -> None:
    """Run the agent on one request, and print its messages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("request", nargs="?", default="move 40 euros from the phone budget to the travel budget")
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))
    arguments = parser.parse_args()

    # Thousands of tools, read once and shared by many processes: Router.open(".quartermaster/snapshots/<catalog>").
    with Router.from_tools([move_budget, read_budget, approve_invoice, book_room, invite_guest]) as router:
        graph = create_agent(ChatOpenAI(model=arguments.model), router, router.call, k=2).compile()
        state = graph.invoke({"messages": [("user", arguments.request)]})
    print(f"given   {', '.join(state['selected_tool_ids'])}, of {len(router)} tools")
    for message in state["messages"]:
        show(message)


if __name__ == "__main__":
    main()
