"""One selection of tools over a whole dialogue, which keeps tools in place so that the provider's prompt cache holds.

Prompt caches match on a prefix, and tool definitions come first: if one tool differs, all messages are read again. So
tools change only where that pays, and then several at once: new ones come behind those of earlier turns, and those that
are no longer useful are evicted together.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from router.answer.results import RoutedTools
from router.dialogue.turn import Placement, RenderedTool, ToolCapacity, Turn, place_tools, prefix_tokens, prompt_price
from router.errors import RequestInvalid, SettingsInvalid
from router.provider_formats.formats import Detail, FormName, ProviderFormat, parse_choice
from router.provider_formats.rendering import compact_json, render
from router.record import ToolRecord
from router.search.conversation import Message
from router.selection.admission import refusal_reason
from router.selection.settings import Selection, Share
from router.typed import converted

if TYPE_CHECKING:
    from router.router import Router

MAX_TOOLS = 128  # of OpenAI, the smallest limit of all providers
# For the values see docs/decisions/answers.md.
_FIRST_NEEDED = 0.3  # how often the first tool of an answer is needed; the tool of rank r is 1/r times as often
_MISSED = 5  # what a needed tool that is missing costs: so many times the prompt
_AHEAD = 0.1  # tools added ahead of need have at most this share of the messages' tokens


class StableSelection:
    """The tools of one dialogue, whose turns come one after the other. It is not for several threads.

    A turn adds those of its best `k` tools that are missing, if the risk that one of them is needed outweighs what the
    change costs. Then further tools come along, more of them the longer the messages are. Earlier tools stay in place
    while there is room. When room runs out, all tools are evicted that are no longer useful. For the defaults see
    docs/decisions/answers.md.

    Args:
        router: The router that answers each turn.
        k: How many of its own best tools each turn may add.
        capacity: The greatest number of tools of a turn.
        token_budget: The greatest number of tokens of a turn.
        form: The provider format.
        detail: How much of each tool is rendered.
        keep_within: One of the first `keep_within` tools of this turn is useful, and may come along; None for 2 × k.
            With a reranker, `keep_within` × multiplier candidates are read each turn.
        keep_called: A tool that was called within this many turns is useful.
        selection: Applies to the whole dialogue: no tool stays that it refuses. The router's own, used for None, only
            filters the tools that each turn finds.
        held: The ids of a dialogue that is continued here, in order.
        count: Returns the tokens of a text; without it, the build's counts are used.
        cached_price: What a token from the provider's cache costs, as a share of the full price.

    Raises:
        SettingsInvalid: A setting is out of its range.
    """

    def __init__(
        self,
        router: "Router",
        *,
        k: int = 8,
        capacity: int = 64,
        token_budget: int | None = None,
        form: ProviderFormat | FormName = ProviderFormat.OPENAI,
        detail: Detail | str = Detail.FULL,
        keep_within: int | None = None,
        keep_called: int = 2,
        selection: Selection | None = None,
        held: Sequence[str] = (),
        count: Callable[[str], int] | None = None,
        cached_price: float = 0.1,
    ) -> None:
        within = 2 * k if keep_within is None else keep_within
        _check("capacity", capacity, 1, MAX_TOOLS)
        _check("k", k, 1, capacity)
        _check("keep_within", within, k, None)
        _check("keep_called", keep_called, 0, None)
        if token_budget is not None:
            _check("token_budget", token_budget, 1, None)
        converted(cached_price, Share, place="stable selection: ", whole="cached_price")
        self._router, self._k, self._within, self._keep_called = router, k, within, keep_called
        self._capacity, self._budget, self._cached_price = capacity, token_budget, cached_price
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
        needs: Sequence[str] | None = None,
        category: str | None = None,
        category_confidence: float | None = None,
        message_tokens: int | None = None,
    ) -> Turn:
        """Return the tools of the next turn. `needs` are those of the latest message.

        `message_tokens` are those of all that stands behind the tools in the prompt. Without them they are estimated as
        a quarter of the request's characters, which is too few where it leaves out what the model reads beside it.

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
        return self.take(routed, message_tokens=len(str(request)) // 4 if message_tokens is None else message_tokens)

    def take(self, routed: RoutedTools, *, message_tokens: int = 0) -> Turn:
        """Return the next turn of an answer that the caller routed, e.g. with `route_async` and k = `keep_within`.

        `message_tokens` are those of all that stands behind the tools in the prompt.
        """
        _check("message_tokens", message_tokens, 0, None)
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
        required = not remaining or not capacity.holds(remaining) or not set(always).issubset(remaining)
        if not (required or self._pays(placement, remaining, routed, known, message_tokens)):
            placement = Placement(tuple(remaining))
        elif placement.added:
            others = [tool_id for tool_id in routed.ids if tool_id not in {*self._tools, *placement.added}]
            ahead = capacity.beside(placement.ids, int(_AHEAD * message_tokens)).best(others, self._within)
            placement = Placement((*placement.ids, *ahead), (*placement.added, *ahead), placement.evicted)
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

    def _pays(
        self,
        placement: Placement,
        remaining: Sequence[str],
        routed: RoutedTools,
        known: Mapping[str, RenderedTool],
        message_tokens: int,
    ) -> bool:
        """Return whether the risk that a missing tool is needed outweighs what it costs to add the missing ones.

        Where the request has several needs or steps, the first tool of each counts as the first of the answer.
        """
        parts = max(len(routed.needs or routed.steps), 1)
        ranks = {tool_id: math.ceil(rank / parts) for rank, tool_id in enumerate(routed.ids, 1)}
        risk = sum(_FIRST_NEEDED / ranks[tool_id] for tool_id in placement.added)
        prices, before = [], [*self._tools.values()]
        for ids in (placement.ids, remaining):
            tools = [known[tool_id] for tool_id in ids]
            prices.append(prompt_price(before, tools, message_tokens, self._cached_price))
        held_tokens = sum(known[tool_id].tokens for tool_id in remaining)
        return risk * _MISSED * (message_tokens + held_tokens) >= prices[0] - prices[1]

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
        text = compact_json(tools[0]) if tools else ""
        return RenderedTool(record, text, self._tokens(record.tool_id, text))

    def _tokens(self, tool_id: str, text: str) -> int:
        if self._count is not None:
            return self._count(text)
        counted = self._router.tokens(tool_id)
        # A tool may be removed after the answer. Then its tokens are estimated as a quarter of the characters, which is
        # what "estimate" means in `manifest.token_counter`.
        return counted[self._form][self._detail] if counted else math.ceil(len(text) / 4)


def _check(name: str, value: int, least: int, most: int | None) -> None:
    kind: Any = Annotated[int, Meta(ge=least, le=most)]
    converted(value, kind, place="stable selection: ", whole=name)
