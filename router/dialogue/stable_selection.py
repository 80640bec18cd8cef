"""One selection of tools over a whole dialogue, which keeps tools in place so that the provider's prompt cache holds.

Prompt caches match on a prefix, and tool definitions come first. If the tools change every turn, nothing is cached.
Here new tools come behind those of earlier turns, and tools that are no longer useful are evicted rarely, and together.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Unpack

from router.answer.options import RouteOptions
from router.answer.results import RoutedTools
from router.dialogue.turn import RenderedTool, ToolCapacity, Turn, place_tools, prefix_tokens
from router.errors import RequestInvalid, SettingsInvalid
from router.provider_formats import Detail, FormName, ProviderFormat, VendorText, parse_choice, render
from router.record import ToolRecord
from router.search.conversation import Message
from router.selection import Selection
from router.selection.admission import refusal_reason

MAX_TOOLS = 128  # of OpenAI, the smallest limit of all providers


class DialogueRouter(Protocol):
    """The methods of a router that a dialogue uses."""

    def route(self, request: str | Sequence[Message], **options: Unpack[RouteOptions]) -> RoutedTools:
        """Return what `Router.route` returns."""
        ...

    def record(self, tool_id: str) -> ToolRecord | None:
        """Return what `Router.record` returns."""
        ...

    @property
    def selection(self) -> Selection:
        """Return the router's selection."""
        ...

    @property
    def vendor_text(self) -> VendorText:
        """Return which text of its tools the router hands to a model."""
        ...

    def tokens(self, tool_id: str) -> Mapping[str, Mapping[str, int]] | None:
        """Return what `Router.tokens` returns."""
        ...


class StableSelection:
    """The tools of one dialogue, whose turns come one after the other. It is not for several threads.

    Each turn has its own best `k` tools. Earlier tools stay in place while there is room. When room runs out, all tools
    are evicted that are no longer useful. For the defaults see docs/decisions/answers.md.

    Args:
        router: The router that answers each turn.
        k: How many of its own best tools each turn has.
        capacity: The greatest number of tools of a turn.
        token_budget: The greatest number of tokens of a turn.
        form: The provider format.
        detail: How much of each tool is rendered.
        keep_within: One of the first `keep_within` tools of this turn is useful; None for k. With a reranker,
            `keep_within` × multiplier candidates are read each turn.
        keep_called: A tool that was called within this many turns is useful.
        selection: Applies to the whole dialogue: no tool stays that it refuses. The router's own, used for None, only
            filters the tools that each turn finds.
        held: The ids of a dialogue that is continued here, in order.
        count: Returns the tokens of a text; without it, the build's counts are used.

    Raises:
        SettingsInvalid: A setting is out of its range.
    """

    def __init__(
        self,
        router: DialogueRouter,
        *,
        k: int = 8,
        capacity: int = 24,
        token_budget: int | None = None,
        form: ProviderFormat | FormName = ProviderFormat.OPENAI,
        detail: Detail | str = Detail.FULL,
        keep_within: int | None = None,
        keep_called: int = 2,
        selection: Selection | None = None,
        held: Sequence[str] = (),
        count: Callable[[str], int] | None = None,
    ) -> None:
        within = k if keep_within is None else keep_within
        _check("capacity", capacity, 1, MAX_TOOLS)
        _check("k", k, 1, capacity)
        _check("keep_within", within, k, None)
        _check("keep_called", keep_called, 0, None)
        if token_budget is not None:
            _check("token_budget", token_budget, 1, None)
        self._router, self._k, self._within, self._keep_called = router, k, within, keep_called
        self._capacity, self._budget = capacity, token_budget
        self._selection = router.selection if selection is None else selection
        self._form, self._detail = parse_choice(ProviderFormat, form), parse_choice(Detail, detail)
        self._count = count
        records = (router.record(tool_id) for tool_id in dict.fromkeys(held))
        self._tools: Mapping[str, RenderedTool] = {
            record.tool_id: self._rendered(record) for record in records if record and self._admits(record)
        }
        self._called: dict[str, int] = {}
        self._turn = 0

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of the current tools, in order: the `held` of a StableSelection that continues from here."""
        return tuple(self._tools)

    def called(self, tool_id: str) -> None:
        """Record that the model called a tool of the last turn, which then stays for `keep_called` more turns.

        Raises RequestInvalid for a tool that is not among the current ones.
        """
        if tool_id not in self._tools:
            raise RequestInvalid(f"the tool {tool_id!r} is not among the {len(self._tools)} of this dialogue")
        self._called[tool_id] = self._turn

    def select(
        self,
        request: str | Sequence[Message],
        *,
        needs: Sequence[str] = (),
        category: str | None = None,
        category_confidence: float | None = None,
    ) -> Turn:
        """Return the tools of the next turn. `needs` are those of the latest message.

        Raises what `Router.route` raises, and SettingsInvalid where the tools that are in every answer do not fit by
        themselves. After an error nothing has changed.
        """
        routed = self._router.route(
            request,
            needs=needs,
            k=self._within,
            selection=self._selection,
            category=category,
            category_confidence=category_confidence,
            form=self._form,
        )
        return self.take(routed)

    def take(self, routed: RoutedTools) -> Turn:
        """Return the next turn of an answer that the caller routed, e.g. with `route_async` and k = `keep_within`."""
        always = [tool.tool_id for tool in routed.always]
        answered = {tool.tool_id: tool.record for tool in (*routed.always, *routed.tools)}
        current = {tool_id: self._updated(tool, answered.get(tool_id)) for tool_id, tool in self._tools.items()}
        known = {tool_id: tool for tool_id, tool in current.items() if tool is not None}
        known |= {tool_id: self._rendered(record) for tool_id, record in answered.items() if tool_id not in known}
        capacity = ToolCapacity(self._capacity, self._budget, {tool_id: tool.tokens for tool_id, tool in known.items()})
        wanted = capacity.best([*answered], len(always) + self._k)
        if missing := set(always).difference(wanted):
            raise SettingsInvalid(
                f"{min(missing)!r}, which is in every answer, does not fit into {self._capacity} tools and "
                f"{self._budget} tokens: raise the capacity or the token_budget"
            )
        remaining = [tool_id for tool_id in self._tools if tool_id in known]
        placement = place_tools(remaining, wanted, self._useful(remaining, routed.ids), capacity)
        tools = [known[tool_id] for tool_id in placement.ids]
        turn = Turn(
            tools=tuple(tool.record for tool in tools),
            added=placement.added,
            evicted=placement.evicted,
            gone=tuple(tool_id for tool_id, tool in current.items() if tool is None),
            changed=tuple(tool_id for tool_id in remaining if known[tool_id].text != self._tools[tool_id].text),
            tokens=sum(tool.tokens for tool in tools),
            prefix_tokens=prefix_tokens([*self._tools.values()], tools),
            routed=routed,
            form=self._form,
            detail=self._detail,
        )
        self._tools = dict(zip(placement.ids, tools, strict=True))
        self._turn += 1
        return turn

    def _useful(self, remaining: Sequence[str], ranking: Sequence[str]) -> list[str]:
        """Return the recently called tools, the latest first, then those that this turn found, by rank."""
        ages = [self._turn - self._called.get(tool_id, -math.inf) for tool_id in remaining]
        called = sorted((age, place) for place, age in enumerate(ages) if age < self._keep_called)
        return list(dict.fromkeys([*(remaining[place] for _, place in called), *ranking[: self._within]]))

    def _updated(self, tool: RenderedTool, answered: ToolRecord | None) -> RenderedTool | None:
        """Return a tool as the catalog has it now; None where it is gone, or changed and refused by the selection."""
        record = answered or self._router.record(tool.record.tool_id)
        if record is None or record == tool.record:
            return tool if record else None
        return self._rendered(record) if self._admits(record) else None

    def _admits(self, record: ToolRecord) -> bool:
        return refusal_reason(self._selection, record) is None

    def _rendered(self, record: ToolRecord) -> RenderedTool:
        vendor_text = self._router.vendor_text
        tools = render([record], self._form, detail=self._detail, vendor_text=vendor_text).tools  # none if unusable
        text = json.dumps(tools[0], separators=(",", ":"), ensure_ascii=False) if tools else ""
        return RenderedTool(record, text, self._tokens(record.tool_id, text))

    def _tokens(self, tool_id: str, text: str) -> int:
        if self._count is not None:
            return self._count(text)
        counted = self._router.tokens(tool_id)
        # A tool may be removed after the answer. Then its tokens are estimated as a quarter of the characters, which is
        # what "estimate" means in `manifest.token_counter`.
        return counted[self._form][self._detail] if counted else math.ceil(len(text) / 4)


def _check(name: str, value: int, least: int, most: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        allowed = f"a whole number from {least} {'up' if most is None else f'to {most}'}"
        raise SettingsInvalid(f"stable selection: {name} is {value!r}, it must be {allowed}")
