"""What users write for each framework, for type checkers alone: nothing here is run."""

from agents import Agent as OpenAIAgent
from anthropic import Anthropic
from anthropic.types import MessageParam
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import LLM
from openai import OpenAI
from openai.types.responses import ResponseInputItemParam
from pydantic_ai import Agent

from quartermaster.adapters import langgraph
from quartermaster.adapters.anthropic import AnthropicToolSearch
from quartermaster.adapters.langchain import RouterMiddleware
from quartermaster.adapters.llama_index import RouterToolRetriever
from quartermaster.adapters.openai_agents import RouterServer, function_tools
from quartermaster.adapters.openai_responses import ResponsesToolSearch
from quartermaster.adapters.pydantic_ai import RouterToolset
from router import Router


def call(id: str, arguments: dict[str, object], context: object = None) -> str:
    """Call a tool."""
    return f"{id} with {arguments} for {context}"


async def call_later(id: str, arguments: dict[str, object]) -> str:
    """Call a tool in an event loop."""
    return f"{id} with {arguments}"


def chat_completions(client: OpenAI, router: Router) -> None:
    """Send rendered tools."""
    tools = router.route("refund a charge", form="openai", recipe="lexical").render().tools
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}], tools=tools)


def responses(client: OpenAI, router: Router, items: list[ResponseInputItemParam]) -> None:
    """Let the model search."""
    search = ResponsesToolSearch(router)
    response = client.responses.create(model="m", input=items, tools=search.tools)
    items += search.answers(response.output, call, history=items)
    client.responses.create(model="m", input=items, tools=router.route("refund").render("responses").tools)


def messages(client: Anthropic, router: Router, said: list[MessageParam]) -> None:
    """Let the model search."""
    search = AnthropicToolSearch(router)
    reply = client.messages.create(model="m", max_tokens=9, messages=said, tools=search.tools(said))
    said.append({"role": "user", "content": search.answers(reply.content, call)})
    client.messages.create(model="m", max_tokens=9, messages=said, tools=search.catalog(said))
    client.messages.create(model="m", max_tokens=9, messages=said, tools=router.route("a").render("anthropic").tools)


def langchain(model: BaseChatModel, router: Router) -> None:
    """Bind tools, and choose those of an agent."""
    model.bind_tools(router.route("refund").render("langchain").tools)
    create_agent(model, [], middleware=[RouterMiddleware(router, call=call)])
    langgraph.create_agent(model, router, call_later, form="langchain").compile()


def others(model: LLM, router: Router) -> None:
    """Give agents their tools."""
    FunctionAgent(llm=model, tool_retriever=RouterToolRetriever(router, call=call))
    server = RouterServer(router, call_later)
    OpenAIAgent("desk", tools=function_tools(router.route("refund"), call), mcp_servers=[server])
    Agent("openai:m", deps_type=int, toolsets=[RouterToolset(router, call)])
