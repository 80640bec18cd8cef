"""One selection over a whole dialogue: tools keep their place, so that the provider's prompt cache holds.

Providers cache a prompt by its beginning, and tools stand there: where one moves, all that stands behind it is read and
paid anew. Here a turn's new tools come behind those of the turns before, and what nobody needs any more goes seldom and
together. `router.dialogue.placement` says how; this asks the router, counts and remembers.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from router.answer.results import RoutedTools
from router.dialogue.placement import Room, place
from router.errors import RequestInvalid, SettingsInvalid
from router.provider_formats import Detail, Form, Rendered, parse_choice, render
from router.record import ToolRecord
from router.search.conversation import Message
from router.selection import Selection
from router.selection.permission import refusal

MOST_TOOLS = 128  # OpenAI's, the least of all providers
# Twelve dialogues of twenty turns over the demo's judged requests, k = 8 (benchmarks/prompt_cache.py --judged):
# tokens of a turn, the share that the turn before began with, and what is paid, a token of that share for a tenth.
#   afresh          1,140   .06   paid 21,600   9.3 needed tools missed in a dialogue
#   capacity 16     1,720   .58        16,480   8.6
#   24              2,290   .74        15,360   8.6
#   32              2,860   .82        14,830   8.1
#   64              4,790   .92        16,680   7.2
#   24, with keep_within = 2 k and keep_called = 8, for what is kept behind a gap is read anew:
#                   2,660   .67        21,170   8.1


class Routes(Protocol):
    """What a dialogue asks of a router."""

    def route(self, request: str | Sequence[Message], **options: Any) -> RoutedTools:
        """`Router.route`."""
        ...

    def record(self, tool_id: str) -> ToolRecord | None:
        """`Router.record`."""
        ...

    @property
    def selection(self) -> Selection:
        """`Router.selection`."""
        ...

    def tokens(self, tool_id: str) -> Mapping[str, Mapping[str, int]] | None:
        """`Router.tokens`."""
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """The tools of one turn, in the order in which they are to be handed over, and what changed since the last.

    `added` stand last. `evicted` made room, `gone` are no longer in the catalog or no longer admitted, `changed` say
    something else than at the last turn and keep their place. `tokens` are those of all tools, `prefix_tokens` those of
    the tools that both turns begin with. `routed` is the answer to this turn alone.
    """

    tools: tuple[ToolRecord, ...]
    added: tuple[str, ...]
    evicted: tuple[str, ...]
    gone: tuple[str, ...]
    changed: tuple[str, ...]
    tokens: int
    prefix_tokens: int
    routed: RoutedTools
    form: Form = Form.OPENAI
    detail: Detail = Detail.FULL

    @property
    def ids(self) -> tuple[str, ...]:
        """The tools' ids, in order."""
        return tuple(tool.tool_id for tool in self.tools)

    def render(self, *, strict: bool = False) -> Rendered:
        """The tools as the provider takes them, with the way back from a name to its id.

        They begin as those of the turn before do, if both are strict or neither is: tokens are counted without.
        """
        return render(self.tools, self.form, detail=self.detail, strict=strict)


@dataclass(frozen=True, slots=True)
class _Held:
    record: ToolRecord
    text: str
    tokens: int


class StableSelection:
    """The tools of one dialogue. Its turns come one after the other: it is not for several threads.

    Each turn has its own best `k` tools. Earlier ones stay in place while there is room: at most `capacity` tools, and
    `token_budget` tokens if it is given. Where it runs out, those go that are useful no more: neither among the first
    `keep_within` of this turn (None: k) nor called within the last `keep_called` turns.

    `selection` holds for the whole dialogue, so that no tool stays that it would refuse now; the router's own, where
    none is given, holds only for what each turn finds. `held` are the ids of a dialogue that goes on elsewhere, in
    order. `count` gives the tokens of a text; left out, they are the build's counts. With a reranker, `keep_within` ×
    multiplier candidates are read each turn.

    Raises SettingsInvalid for a setting out of its range.
    """

    def __init__(
        self,
        router: Routes,
        *,
        k: int = 8,
        capacity: int = 24,
        token_budget: int | None = None,
        form: Form | str = Form.OPENAI,
        detail: Detail | str = Detail.FULL,
        keep_within: int | None = None,
        keep_called: int = 2,
        selection: Selection | None = None,
        held: Sequence[str] = (),
        count: Callable[[str], int] | None = None,
    ) -> None:
        within = k if keep_within is None else keep_within
        _check("capacity", capacity, 1, MOST_TOOLS)
        _check("k", k, 1, capacity)
        _check("keep_within", within, k, None)
        _check("keep_called", keep_called, 0, None)
        if token_budget is not None:
            _check("token_budget", token_budget, 1, None)
        self._router, self._k, self._within, self._keep_called = router, k, within, keep_called
        self._capacity, self._budget = capacity, token_budget
        self._selection = router.selection if selection is None else selection
        self._form, self._detail = parse_choice(Form, form), parse_choice(Detail, detail)
        self._count = count
        records = (router.record(tool_id) for tool_id in dict.fromkeys(held))
        self._held: Mapping[str, _Held] = {
            record.tool_id: self._weigh(record) for record in records if record and self._admits(record)
        }
        self._called: dict[str, int] = {}
        self._turn = 0

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the tools that are held, in order: `held` of a StableSelection that goes on from here."""
        return tuple(self._held)

    def called(self, tool_id: str) -> None:
        """Say that the model called a tool of the last turn, which then stays for `keep_called` turns more.

        Raises RequestInvalid for a tool that is not held.
        """
        if tool_id not in self._held:
            raise RequestInvalid(f"the tool {tool_id!r} is not among the {len(self._held)} of this dialogue")
        self._called[tool_id] = self._turn

    def select(
        self,
        request: str | Sequence[Message],
        *,
        category: str | None = None,
        category_confidence: float | None = None,
    ) -> Turn:
        """The tools of the next turn. Raises what `Router.route` raises, and then nothing has changed; SettingsInvalid
        where the tools that every answer has do not fit by themselves."""
        routed = self._router.route(
            request,
            k=self._within,
            selection=self._selection,
            category=category,
            category_confidence=category_confidence,
            form=self._form,
        )
        return self.take(routed)

    def take(self, routed: RoutedTools) -> Turn:
        """`select` of an answer that the caller asked for, as with `route_async`; its k is to be `keep_within`."""
        always = [tool.tool_id for tool in routed.always]
        found = {tool.tool_id: tool.record for tool in (*routed.always, *routed.tools)}
        before = {tool_id: self._again(held, found.get(tool_id)) for tool_id, held in self._held.items()}
        known = {tool_id: held for tool_id, held in before.items() if held is not None}
        known |= {tool_id: self._weigh(record) for tool_id, record in found.items() if tool_id not in known}
        room = Room(self._capacity, self._budget, {tool_id: tool.tokens for tool_id, tool in known.items()})
        wanted = room.best([*found], len(always) + self._k)
        if missing := set(always).difference(wanted):
            raise SettingsInvalid(
                f"{min(missing)!r}, which is in every answer, does not fit into {self._capacity} tools and "
                f"{self._budget} tokens: raise the capacity or the token_budget"
            )
        held = [tool_id for tool_id in self._held if tool_id in known]
        placed = place(held, wanted, self._useful(held, routed.ids), room)
        tools = [known[tool_id] for tool_id in placed.ids]
        turn = Turn(
            tools=tuple(tool.record for tool in tools),
            added=placed.added,
            evicted=placed.evicted,
            gone=tuple(tool_id for tool_id, now in before.items() if now is None),
            changed=tuple(tool_id for tool_id in held if known[tool_id].text != self._held[tool_id].text),
            tokens=sum(tool.tokens for tool in tools),
            prefix_tokens=_common([*self._held.values()], tools),
            routed=routed,
            form=self._form,
            detail=self._detail,
        )
        self._held = dict(zip(placed.ids, tools, strict=True))
        self._turn += 1
        return turn

    def _useful(self, held: Sequence[str], ranking: Sequence[str]) -> list[str]:
        """Those called of late, the latest first, then those found now, by rank."""
        since = {tool_id: self._turn - self._called.get(tool_id, -math.inf) for tool_id in held}
        called = sorted((age, place) for place, age in enumerate(since.values()) if age < self._keep_called)
        return list(dict.fromkeys([*(held[place] for _, place in called), *ranking[: self._within]]))

    def _again(self, held: _Held, found: ToolRecord | None) -> _Held | None:
        """A held tool as the catalog has it now; None where it has it no more, or the selection refuses it."""
        record = found or self._router.record(held.record.tool_id)
        if record is None or record == held.record:
            return held if record else None
        return self._weigh(record) if self._admits(record) else None

    def _admits(self, record: ToolRecord) -> bool:
        return refusal(self._selection, record) is None

    def _weigh(self, record: ToolRecord) -> _Held:
        tool = render([record], self._form, detail=self._detail).tools[0]
        text = json.dumps(tool, separators=(",", ":"), ensure_ascii=False)
        return _Held(record, text, self._tokens(record.tool_id, text))

    def _tokens(self, tool_id: str, text: str) -> int:
        if self._count is not None:
            return self._count(text)
        counted = self._router.tokens(tool_id)
        # A tool may go between the answer and now: a quarter of the characters then, as `manifest.token_counter` means
        # by "estimate".
        return counted[self._form][self._detail] if counted else math.ceil(len(text) / 4)


def _common(before: Sequence[_Held], now: Sequence[_Held]) -> int:
    """Tokens of the tools that both begin with."""
    tokens = 0
    for old, new in zip(before, now, strict=False):
        if old.text != new.text:
            break
        tokens += new.tokens
    return tokens


def _check(name: str, value: int, least: int, most: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        allowed = f"a whole number from {least} {'up' if most is None else f'to {most}'}"
        raise SettingsInvalid(f"stable selection: {name} is {value!r}, it must be {allowed}")
