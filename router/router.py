"""The router: a request in, the few tools that fit out, with the reasons."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from router.answering import answer, explanation, recipe_of, records_within, with_vectors
from router.aside import Aside
from router.asking import clean, encode, find, rank
from router.cached_encoder import CacheStatistics, statistics
from router.contract import Manifest, Signal
from router.errors import RequestInvalid
from router.live import Live
from router.recipe import Recipe
from router.record import ToolRecord
from router.retrievers import Ranking
from router.routed import RoutedTool, RoutedTools
from router.snapshot import Snapshot


class Router:
    """Routes requests over the snapshot that a path serves. One router serves many threads, none waits for another.

    Each answer is wholly of one snapshot, and names it; so is what `select`, `explain`, `lists` and the rest return.
    """

    # Every public method takes the snapshot once: the next look may find another.

    def __init__(self, served: Snapshot | Live) -> None:
        """Internal: use `open`."""
        self._live = Live(served) if isinstance(served, Snapshot) else served
        self._aside = Aside()

    @classmethod
    def open(cls, path: str | Path, *, watch: float | None = None, request_cache: int = 0) -> "Router":
        """Open and verify a snapshot's folder, or a catalog's folder (`snapshots/<catalog>`) with CURRENT.

        `watch`: look every so many seconds whether CURRENT names another snapshot, and serve that one then, from a
        thread that ends with the router. One that cannot be opened is refused with a warning of the logger "router",
        and the old one serves on. None looks only when `reload` is called.

        `request_cache`: how many requests' vectors are kept, 1.5 KB for each and for each of its steps. None unless
        asked for, so that what is timed is what a new request takes.

        Raises SnapshotInvalid where there is no snapshot, or it is corrupt, or made for another version of the router;
        SettingsInvalid for a setting out of its range.
        """
        return cls(Live.open(Path(path), watch=watch, request_cache=request_cache))

    def reload(self) -> bool:
        """Serve what the path serves now; whether that is another snapshot than before.

        The new one is opened and verified while the old one serves, which ends with the last request that it answers.
        Raises SnapshotInvalid where the new one cannot be opened: the old one serves on.
        """
        return self._live.reload()

    async def aclose(self) -> None:
        """`close` beside the event loop, which goes on while calls under way end."""
        import asyncio

        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """End the router's own threads, where it has any: `watch`, and those of the async methods."""
        self._live.close()
        self._aside.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def manifest(self) -> Manifest:
        """What the snapshot that serves now says of itself."""
        return self._live.snapshot.manifest

    @property
    def cache(self) -> CacheStatistics:
        """How the request cache serves, since its encoder was opened; a new snapshot of the same encoder keeps it."""
        return statistics(self._live.snapshot)

    def __len__(self) -> int:
        return len(self._live.snapshot.records)

    def record(self, tool_id: str) -> ToolRecord | None:
        """The record of a tool id; None where the snapshot has no such tool."""
        records = self._live.snapshot.records
        ordinal = records.ordinal(tool_id)
        return None if ordinal is None else records.entry(ordinal).record

    def route(
        self, request: str, *, k: int = 10, explain: bool = False, recipe: str | Recipe | None = None
    ) -> RoutedTools:
        """The `k` tools that best fit a request.

        An answer holds no more tools than the recipe's lists do together (`depth` each), so it may be shorter than k.
        `recipe` is a Recipe, the name of one ("default", "adaptive", "published", "lexical"), or None for the
        snapshot's own. `explain=True` adds ranks, contributions and the matching phrase to each tool. Raises
        RequestInvalid for an empty request or k < 1, SettingsInvalid for an unknown recipe.
        """
        _at_least_one("k", k)
        snapshot = self._live.snapshot
        return answer(snapshot, clean(request), k, explain, recipe_of(snapshot, recipe))

    def route_many(
        self,
        requests: Sequence[str],
        *,
        k: int = 10,
        explain: bool = False,
        recipe: str | Recipe | None = None,
    ) -> list[RoutedTools]:
        """The answers of `route` to many requests, in their order and all of one snapshot.

        They and their steps are encoded first, in batches of like length, which takes an fp32 encoder a quarter less
        time; an int8 one, whose vectors would depend on their batch, encodes one by one. Raises RequestInvalid, with
        its place, for a request that `route` refuses, before any is answered.
        """
        _at_least_one("k", k)
        if isinstance(requests, str):
            raise RequestInvalid("requests is one text, it must be a sequence of them: use `route` for one")
        cleaned = [_clean_at(place, request) for place, request in enumerate(requests)]
        snapshot = self._live.snapshot
        chosen = recipe_of(snapshot, recipe)
        ahead = with_vectors(snapshot, cleaned, chosen)
        return [answer(ahead, request, k, explain, chosen) for request in cleaned]

    async def route_async(
        self, request: str, *, k: int = 10, explain: bool = False, recipe: str | Recipe | None = None
    ) -> RoutedTools:
        """`route` beside the event loop, on a few threads of the router's own. `close` ends them."""
        return await self._aside.run(partial(self.route, request, k=k, explain=explain, recipe=recipe))

    async def route_many_async(
        self,
        requests: Sequence[str],
        *,
        k: int = 10,
        explain: bool = False,
        recipe: str | Recipe | None = None,
    ) -> list[RoutedTools]:
        """`route_many` beside the event loop."""
        return await self._aside.run(partial(self.route_many, requests, k=k, explain=explain, recipe=recipe))

    def select(self, request: str, k: int = 5, token_budget: int | None = None) -> list[ToolRecord]:
        """The records alone, best first; with a budget, those of the candidates that fit it, at most `k`.

        Tokens are those of a tool in OpenAI's function form, counted at build time (`manifest.token_counter` says by
        what). Raises RequestInvalid for an empty request, k < 1 or a budget below 1.
        """
        _at_least_one("k", k)
        if token_budget is None:
            return [tool.record for tool in self.route(request, k=k)]
        _at_least_one("token_budget", token_budget)
        return records_within(self._live.snapshot, clean(request), k, token_budget)

    async def select_async(self, request: str, k: int = 5, token_budget: int | None = None) -> list[ToolRecord]:
        """`select` beside the event loop."""
        return await self._aside.run(partial(self.select, request, k, token_budget))

    def explain(
        self, request: str, tool_id: str, *, recipe: str | Recipe | None = None
    ) -> tuple[RoutedTool, int | None]:
        """Why a tool ranks where it does: the tool with its rank in every whole list, and its fused rank.

        The fused rank is None where no list holds the tool within the recipe's depth. Raises RequestInvalid where
        the snapshot has no such tool.
        """
        snapshot = self._live.snapshot
        return explanation(snapshot, request, tool_id, recipe_of(snapshot, recipe))

    def rankings(self, request: str, *, recipe: str | Recipe | None = None) -> dict[Signal, Ranking]:
        """Each signal's own ranking, before fusion: ordinals and raw scores, for evaluation and study.

        Ordinals are of one snapshot: to read them with `tool_id`, open the router without `watch`.
        """
        snapshot = self._live.snapshot
        chosen = recipe_of(snapshot, recipe)
        asked = encode(snapshot, [clean(request)], chosen)[0]
        return rank(snapshot, asked, chosen, chosen.depth)

    def lists(self, request: str, *, recipe: str | Recipe | None = None) -> tuple[Mapping[Signal, Ranking], Ranking]:
        """Each signal's own ranking of the whole request, and the fused one that `route` cuts to k."""
        snapshot = self._live.snapshot
        found = find(snapshot, clean(request), recipe_of(snapshot, recipe))
        return found.rankings, found.ranking

    def tool_id(self, ordinal: int) -> str:
        """The tool id of an ordinal of `rankings`."""
        return self._live.snapshot.records.tool_id(ordinal)

    def recipe(self, recipe: str | Recipe | None = None) -> Recipe:
        """The recipe that a name stands for; the snapshot's own for None. Raises SettingsInvalid."""
        return recipe_of(self._live.snapshot, recipe)


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise RequestInvalid(f"{name} is {value}, it must be at least 1")


def _clean_at(place: int, request: str) -> str:
    if not isinstance(request, str):
        raise RequestInvalid(f"requests[{place}] is {request!r}, it must be a text")
    try:
        return clean(request)
    except RequestInvalid as error:
        raise RequestInvalid(f"requests[{place}]: {error}") from None
