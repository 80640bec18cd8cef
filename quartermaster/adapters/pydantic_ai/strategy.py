"""The router as the strategy of pydantic-ai's tool search: queries and deferred tools in, names out, best first."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Unpack

from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.tools import ToolDefinition

from quartermaster.adapters.tool_search import PURPOSE
from router.answer.options import SharedOptions
from router.errors import RequestInvalid, SettingsInvalid, quoted
from router.router import Router
from router.selection.profile import Profile
from router.selection.settings import Selection
from router.snapshot.memory import EncoderChoice

PARAMETER = (
    "What each call that the request takes does, also lookups that it leaves unsaid, in plain words: a query each."
)
_PROVIDER = "agent"  # the label of tools that a router is made of here


def tool_search(
    router: Router | None = None, *, encoder: EncoderChoice = "auto", **options: Unpack[SharedOptions]
) -> ToolSearch[object]:
    """Return pydantic-ai's tool search with the router behind it, for `Agent(capabilities=[…])`.

    It finds the agent's tools that have `defer_loading=True`. OpenAI's and Anthropic's models that have a tool search
    of their own use it, and the search itself runs here; for others it is the function `search_tools`.

    Args:
        router: Knows the agent's tools, by the names that it renders or by those of its records; other tools are not
            found. With None a router is made of the definitions of the agent's deferred tools.
        encoder: With None as router: as in `Router.from_tools`.
        options: Those of `Router.route`, such as `k`, which is 5 by default for all queries of a search together.
    """
    return ToolSearch(
        strategy=RouterStrategy(router, encoder=encoder, **options),
        max_results=options.get("k", 5),
        tool_description=PURPOSE,
        parameter_description=PARAMETER,
    )


class RouterStrategy:
    """A `ToolSearch(strategy=…)`. It keeps nothing of a run, so one serves all runs of all agents."""

    def __init__(
        self, router: Router | None = None, *, encoder: EncoderChoice = "auto", **options: Unpack[SharedOptions]
    ) -> None:
        self._router, self._encoder = router, encoder
        self._options: SharedOptions = {"k": 5, **options}
        self._lock = threading.Lock()
        self._indexed: tuple[object, ...] = ()  # what the last search was over
        self._last: tuple[Router, Mapping[str, str]] | None = None

    async def __call__(
        self, _: RunContext[object], queries: Sequence[str], tools: Sequence[ToolDefinition]
    ) -> list[str]:
        """Return the names of the deferred tools that fit the queries: the best of each, then the second of each.

        The model reads why the router refuses a query.

        Raises:
            QuartermasterError: What `Router.route_many` raises, except RequestInvalid.
            SettingsInvalid: The router knows none of the tools.
        """
        router, names = await asyncio.to_thread(self._over, list(tools))
        try:
            answers = await router.route_many_async([query for query in queries if query.strip()], **self._options)
        except RequestInvalid as error:
            raise ModelRetry(str(error)) from error
        by_rank = chain.from_iterable(zip_longest(*answers))
        found = (names.get(tool.tool_id) or names.get(tool.record.name) for tool in by_rank if tool is not None)
        return list(dict.fromkeys(name for name in found if name is not None))

    def _over(self, tools: list[ToolDefinition]) -> tuple[Router, Mapping[str, str]]:
        """Return a router of only these tools, made once for equal ones, and their names by its ids or names."""
        with self._lock:  # so that searches at once make one router
            served = None if self._router is None else (self._router.manifest, self._router.overlay)
            if self._last is None or self._indexed != (tools, served):
                self._last = self._narrowed(self._router, tools) if self._router else self._made(tools)
                self._indexed = (tools, served)
            return self._last

    def _made(self, tools: Sequence[ToolDefinition]) -> tuple[Router, Mapping[str, str]]:
        definitions = [
            {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
            for tool in tools
        ]
        router = Router.from_tools(definitions, provider=_PROVIDER, encoder=self._encoder)
        return router, {tool.name: tool.name for tool in tools}

    def _narrowed(self, router: Router, tools: Sequence[ToolDefinition]) -> tuple[Router, Mapping[str, str]]:
        """Return the router narrowed to tools that are called by its names or by those of its records."""
        names = {router.tool_id_of(tool.name) or tool.name: tool.name for tool in tools}
        narrowed = router.for_profile(Profile("tool search", Selection(allow=tuple(names))))
        if not len(narrowed):
            raise SettingsInvalid(
                f"the router knows none of the {len(tools)} deferred tools, such as {quoted(tools[0].name)}: name them "
                "as it renders them or as its records are named, or leave the router out of tool_search()"
            )
        return narrowed, names
