"""OpenAI Agents SDK: the tools of an answer as FunctionTools, or tools that an agent chooses anew for each message.

Needs the extra `agents`.

    >>> agent = base.clone(tools=[*base.tools, *function_tools(router.route(request), call)])
    >>> Runner.run_sync(agent, request).final_output

    >>> server = RouterServer(router, call, k=5)
    >>> agent = Agent("support", mcp_servers=[server], tools=[server.search_tool])
    >>> Runner.run_sync(agent, request, context=SearchContext()).final_output
"""

from quartermaster.adapters.openai_agents.functions import function_tools, hosted_function_tools
from quartermaster.adapters.openai_agents.server import RouterServer, SearchContext

__all__ = ["RouterServer", "SearchContext", "function_tools", "hosted_function_tools"]
