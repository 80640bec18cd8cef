"""The tools of a dialogue, worked out from what was said and called in it, for frameworks that keep the messages.

The same dialogue always gives the same tools in the same order. What is said next changes them only where that pays,
and adds tools behind them while there is room: the provider's prompt cache holds. One instance serves all dialogues.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from quartermaster.adapters.tool_search import Searched
from router.answer.options import RouteOptions
from router.answer.results import RoutedTools
from router.dialogue.stable_selection import StableSelection
from router.errors import RequestInvalid
from router.provider_formats.formats import FormName, ProviderFormat
from router.record import ToolRecord
from router.router import Router
from router.selection.settings import Selection

_KEPT = 512


@dataclass(frozen=True, slots=True)
class Called:
    """A call in a dialogue: the model called a tool of this id."""

    tool_id: str


@dataclass(frozen=True, slots=True)
class Read:
    """Something else that the model reads in a dialogue, such as a result: so many characters."""

    characters: int


Event = str | Called | Searched | Read  # a text is a message of the user


class StableOptions(TypedDict, total=False):
    """Options of the tools of a dialogue, all optional: those of `StableSelection`.

    Keyword Args:
        k: How many of its own best tools each turn may add; 8 by default.
        capacity: The greatest number of tools, 64 by default and 128 at most.
        token_budget: The greatest number of tokens of all tools together.
        form: The provider's format, whose rules hold for names and parameters; "responses" by default.
        selection: Filters the tools of the whole dialogue; the router's own for None.
        cached_price: What a token from the provider's cache costs, as a share of the full price; a tenth by default.
    """

    k: int
    capacity: int
    token_budget: int | None
    form: ProviderFormat | FormName
    selection: Selection | None
    cached_price: float


class DialogueTools:
    """Works out the tools of dialogues. Raises SettingsInvalid for an option out of its range."""

    def __init__(self, router: Router, **options: Unpack[StableOptions]) -> None:
        self._router = router
        self._options: StableOptions = {"k": 8, "form": ProviderFormat.RESPONSES, **options}
        StableSelection(router, **self._options)  # checks the options
        self._served: tuple[object, ...] = ()
        self._answers: dict[tuple[tuple[str, ...], tuple[str, ...]], RoutedTools] = {}
        self._dialogues: dict[tuple[Event, ...], tuple[ToolRecord, ...]] = {}

    async def tools(self, events: Sequence[Event]) -> tuple[ToolRecord, ...]:
        """Return the tools at the end of a dialogue, in order; none before the user has said anything in words.

        A search that the router refuses adds nothing. Raises what `Router.route` raises.
        """
        self._forget_other_tools()
        asked = max((place for place, event in enumerate(events, 1) if isinstance(event, str | Searched)), default=0)
        dialogue, dialogues = tuple(events[:asked]), self._dialogues  # what else happens matters to what is asked later
        if dialogue not in dialogues:
            _keep(dialogues, dialogue, await self._replayed(dialogue))
        return dialogues[dialogue]

    async def routed(self, messages: Sequence[str], needs: Sequence[str] = ()) -> RoutedTools:
        """Return the answer to messages of the user, or to a search. Answers are kept while the same tools serve."""
        self._forget_other_tools()
        key, answers = (tuple(messages), tuple(needs)), self._answers
        if key not in answers:
            k, form, selection = self._options["k"], self._options["form"], self._options.get("selection")
            options: RouteOptions = {"needs": needs or None, "k": k, "form": form, "selection": selection}
            _keep(answers, key, await self._router.route_async(list(messages), **options))
        return answers[key]

    async def _replayed(self, events: Sequence[Event]) -> tuple[ToolRecord, ...]:
        stable, said = StableSelection(self._router, **self._options), list[str]()
        records, characters = tuple[ToolRecord, ...](), 0
        for event in events:
            characters += event.characters if isinstance(event, Read) else len(str(event))
            if isinstance(event, Called):
                if event.tool_id in stable.ids:
                    stable.called(event.tool_id)
            elif isinstance(event, Searched):
                with suppress(RequestInvalid):  # the model read the error when it searched
                    routed = await self.routed([event.request], event.needs)
                    records = stable.take(routed, message_tokens=characters // 4).tools
            elif isinstance(event, str) and event.strip():
                said.append(event)
                records = stable.take(await self.routed(said), message_tokens=characters // 4).tools
        return records

    def _forget_other_tools(self) -> None:
        served = (self._router.manifest, self._router.overlay)
        if served != self._served:
            self._answers, self._dialogues, self._served = {}, {}, served


def _keep(kept: dict[Any, Any], key: object, value: object) -> None:
    """Keep a value, and forget the oldest where there are too many."""
    kept[key] = value
    if len(kept) > _KEPT:
        kept.pop(next(iter(kept)), None)
