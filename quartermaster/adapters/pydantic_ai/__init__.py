"""pydantic-ai: its tool search over the router, and toolsets of the router's tools.

Needs the extra `pydantic-ai`.

    >>> Agent(model, tools=[Tool(function, defer_loading=True), ...], capabilities=[tool_search()])
    >>> Agent(model, toolsets=[RouterToolset(router, call, k=5)])
    >>> Agent(model, toolsets=[RouterToolset(router, call, k=5, search=True)])
    >>> Agent(model, toolsets=[DeferredToolset(router, call)], capabilities=[tool_search(router)])
"""

from quartermaster.adapters.pydantic_ai.catalog import DeferredToolset
from quartermaster.adapters.pydantic_ai.strategy import RouterStrategy, tool_search
from quartermaster.adapters.pydantic_ai.toolset import RouterToolset

__all__ = ["DeferredToolset", "RouterStrategy", "RouterToolset", "tool_search"]
