"""A LlamaIndex agent that is given the few tools that fit the user's message.

    pip install '.[llama-index]' openai        (in a checkout of Quartermaster)
    export OPENAI_API_KEY=sk-...
    python llama_index_agent.py "is the boat insured in January"

A model of your own: `export OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=none`, and --model its name.
Any `FunctionCallingLLM` may replace `ChatModel`, which is here because llama-index-llms-openai needs openai < 3.
"""

import argparse
import asyncio
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ToolCallResult
from llama_index.core.llms import ChatMessage, ChatResponse, CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import BaseTool, FunctionTool
from openai import OpenAI

from quartermaster.adapters.llama_index import RouterToolRetriever
from router import Router


def insure_boat(boat: str, month: str) -> str:
    """Insure a boat for a month."""
    return f"{boat} is insured in {month}"


def check_insurance(boat: str, month: str) -> dict[str, str]:
    """Say whether a boat is insured in a month."""
    return {"boat": boat, "month": month, "insured": "yes"}


def reserve_berth(harbour: str, nights: int) -> str:
    """Reserve a berth in a harbour."""
    return f"{nights} nights in {harbour}"


def order_sails(boat: str, area_m2: float) -> str:
    """Order new sails."""
    return f"{area_m2} m² for {boat}"


def read_tides(harbour: str) -> list[str]:
    """List when it is high water at a harbour."""
    return [f"{harbour} 04:12", f"{harbour} 16:40"]


class ChatModel(CustomLLM, FunctionCallingLLM):
    """A model behind a server of chat completions."""

    model: str

    @property
    def metadata(self) -> LLMMetadata:
        """Return that the model is a chat model that calls functions."""
        return LLMMetadata(model_name=self.model, is_chat_model=True, is_function_calling_model=True)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Send messages and tools, and return the model's message."""
        sent = [_as_sent(message) for message in messages]
        reply = OpenAI().chat.completions.create(model=self.model, messages=sent, **kwargs)  # type: ignore[arg-type]
        message = reply.choices[0].message
        calls = [call.model_dump() for call in message.tool_calls or ()]
        answer = ChatMessage(role="assistant", content=message.content, additional_kwargs={"tool_calls": calls})
        return ChatResponse(message=answer, raw=reply)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Send messages beside the event loop."""
        return await asyncio.to_thread(self.chat, messages, **kwargs)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Send a text as the user's message."""
        return CompletionResponse(text=self.chat([ChatMessage(prompt)], **kwargs).message.content or "")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Yield the whole completion at once."""
        completed = self.complete(prompt, formatted, **kwargs)
        yield CompletionResponse(text=completed.text, delta=completed.text)

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        *_: Any,
        **__: Any,
    ) -> dict[str, Any]:
        said = ChatMessage(user_msg) if isinstance(user_msg, str) else user_msg
        messages = [*(chat_history or ()), *([said] if said else ())]
        rendered = [tool.metadata.to_openai_tool(skip_length_check=True) for tool in tools]
        return {"messages": messages, **({"tools": rendered} if rendered else {})}

    def get_tool_calls_from_response(self, response: ChatResponse, *_: Any, **__: Any) -> list[ToolSelection]:
        """Return the tools that the model calls."""
        calls = response.message.additional_kwargs["tool_calls"]
        return [
            ToolSelection(
                tool_id=call["id"],
                tool_name=call["function"]["name"],
                tool_kwargs=json.loads(call["function"]["arguments"]),
            )
            for call in calls
        ]


def _as_sent(message: ChatMessage) -> dict[str, Any]:
    """Return a message as servers of chat completions take it."""
    more = {name: value for name, value in message.additional_kwargs.items() if value}
    return {"role": message.role.value, "content": message.content, **more}


async def run(request: str, model: str) -> None:
    """Ask the agent, and print which tools it was given, what it called, and its answer."""
    functions: list[Callable[..., Any]] = [insure_boat, check_insurance, reserve_berth, order_sails, read_tides]
    tools = [FunctionTool.from_defaults(function) for function in functions]
    # Thousands of tools, read once and shared by many processes: Router.open(".quartermaster/snapshots/<catalog>").
    with Router.from_tools(tools) as router:
        retriever = RouterToolRetriever(router, tools, k=2)
        agent = FunctionAgent(llm=ChatModel(model=model), tool_retriever=retriever, streaming=False)
        output: AgentOutput = await agent.run(user_msg=request)
        given = [tool.metadata.get_name() for tool in retriever.retrieve(request)]
    print(f"given   {', '.join(given)}, of {len(tools)} tools")
    for result in output.tool_calls:
        assert isinstance(result, ToolCallResult)
        print(f"calls   {result.tool_name}({result.tool_kwargs})")
        print(f"tool    {result.tool_output.content}")
    print(f"answer  {output.response.content}")


def main() -> None:
    """Read the command line, and run the agent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("request", nargs="?", default="is the boat insured in January")
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))
    arguments = parser.parse_args()
    asyncio.run(run(arguments.request, arguments.model))


if __name__ == "__main__":
    main()
