"""The router: a request in, the few tools that fit out, with the reasons."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from router.answer import tracing
from router.answer.executor import Executor
from router.answer.options import Options, RouteOptions, recipe_of
from router.answer.reranking import Reranking
from router.answer.respond import answer, explanation, with_vectors
from router.answer.results import RoutedTool, RoutedTools
from router.contract import Manifest
from router.errors import RequestInvalid, SettingsInvalid
from router.provider_formats import Detail, Form, id_of, parse_choice
from router.record import ToolRecord
from router.retrieval.recipe import Recipe
from router.retrieval.retrievers import Ranking
from router.search.conversation import Message, Said, said
from router.search.search import clean, encode, rank, search
from router.selection import Selection
from router.snapshot.cached_encoder import CacheStatistics, cached, statistics
from router.snapshot.memory import EncoderChoice, open_encoder, phrases_by_id, snapshot_of
from router.snapshot.overlay import Overlay
from router.snapshot.record_store import Records
from router.snapshot.reloading import Live, checked_request_cache
from router.snapshot.snapshot import Snapshot
from router.tools.functions import Functions, Tools, ToolSet, read_tools

_logger = logging.getLogger("router")


class Router:
    """Routes requests over the snapshot that a path serves. One router serves many threads, none waits for another.

    Each answer is wholly of one snapshot, and names it; so is what `select`, `explain`, `lists` and the rest return.
    """

    # Every public method takes the snapshot once: the next look may find another.

    def __init__(
        self, served: Snapshot | Live, selection: Selection | None = None, rerank: Reranking | None = None
    ) -> None:
        """Internal: use `open` or `from_tools`."""
        self._live = live = Live(served) if isinstance(served, Snapshot) else served
        self._functions = Functions(lambda tool_id: live.snapshot.records.ordinal(tool_id) is not None)
        self._aside = Executor()
        # What is none is refused here, not by the first request.
        own = Options(selection=Selection() if selection is None else selection, rerank=rerank)
        self._selection, self._rerank = own.selection, own.rerank

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        watch: float | None = None,
        request_cache: int = 0,
        selection: Selection | None = None,
        rerank: Reranking | None = None,
        overlay: str | Path | None = None,
    ) -> "Router":
        """Open and verify a snapshot's folder, or a catalog's folder (`snapshots/<catalog>`) with CURRENT.

        `watch`: look every so many seconds whether CURRENT names another snapshot, and serve that one then, from a
        thread that ends with the router. One that cannot be opened is refused with a warning of the logger "router",
        and the old one serves on. None looks only when `reload` is called.

        `request_cache`: how many requests' vectors are kept, 1.5 KB for each and for each of its steps. None unless
        asked for, so that what is timed is what a new request takes.

        `selection`: of every request that brings none of its own. `rerank`: a second pass over each answer's best.
        `overlay`: a file of `save_overlay`, of tools that are registered and removed from the start.

        Raises SnapshotInvalid where there is no snapshot, or it is corrupt, or made for another version of the router;
        SettingsInvalid for a setting out of its range.
        """
        saved = None if overlay is None else Path(overlay)
        live = Live.open(Path(path), watch=watch, request_cache=request_cache, overlay=saved)
        return cls(live, selection, rerank)

    @classmethod
    def from_tools(
        cls,
        tools: Tools,
        *,
        provider: str | None = None,
        phrases: Mapping[str, Sequence[str]] | None = None,
        encoder: EncoderChoice = "auto",
        selection: Selection | None = None,
        rerank: Reranking | None = None,
        request_cache: int = 0,
    ) -> "Router":
        """Return a router over tools in memory: no workspace, no build, no file.

        `tools` are Python functions (name, docstring and annotations say what they are), definitions as OpenAI,
        Anthropic and MCP write them, MCP's and LangChain's own objects, or records; or a mapping from a provider's
        label to such a list. `provider` is the label of tools that have none, the first part of their ids.

        `phrases`, by id or name, are requests that a tool is for, in the place of the lexicon's. `encoder` makes the
        vectors: "auto" takes the encoder that was exported for this user, and does without where there is none; None
        does without; else the folder of an exported encoder or of a snapshot, or an object with `encode(texts)`.
        `selection`, `rerank` and `request_cache` are as in `open`.

        What was renamed, merged, or has no JSON form is told by the logger "router". Raises SettingsInvalid, with its
        place, for what is no tool, and where there is none; SnapshotInvalid for an encoder that does not load.
        """
        checked_request_cache(request_cache)
        given = _told(read_tools(tools, provider))
        if not given.records:
            raise SettingsInvalid("tools is empty: give at least one function or definition")
        opened = open_encoder(encoder, len(given.records))
        snapshot = snapshot_of(given.records, phrases_by_id(phrases, given.records), opened)
        router = cls(Live(cached(snapshot, request_cache)), selection, rerank)
        router._with_functions(given)
        return router

    def reload(self) -> bool:
        """Serve what the path serves now; whether that is another snapshot than before. Never, of tools in memory.

        The new one is opened and verified while the old one serves, which ends with the last request that it answers.
        Raises SnapshotInvalid where the new one cannot be opened: the old one serves on.
        """
        return self._live.reload()

    def register(
        self,
        tools: Tools,
        *,
        provider: str | None = None,
        source: str | None = None,
        phrases: Mapping[str, Sequence[str]] | None = None,
    ) -> tuple[ToolRecord, ...]:
        """Add tools, or change those of the same ids, from the next request on and over the next snapshots, until one
        has them unchanged: from then on they are the build's. Their records.

        `tools` are what `from_tools` takes; `provider` is their label, the first part of their ids. `source` is who
        lists them, for `replace`. `phrases`, by id or name, are requests that a tool is for: without any, one that
        the snapshot knows keeps its own. Raises SettingsInvalid for what is no tool: then nothing is changed.
        """
        given = _told(read_tools(tools, provider))
        by_id = phrases_by_id(phrases, given.records)
        self._live.change(lambda overlay: overlay.registered(given.records, source, by_id))
        return self._with_functions(given)

    def replace(
        self, source: str, tools: Tools, *, phrases: Mapping[str, Sequence[str]] | None = None
    ) -> tuple[ToolRecord, ...]:
        """Make these the only tools of a source, as after MCP's `list_changed`; the records.

        `source` is their provider's label: what the snapshot or the overlay has of it besides serves no longer. Raises
        as `register` does.
        """
        given = _told(read_tools(tools, source))
        by_id = phrases_by_id(phrases, given.records)
        self._live.change(lambda overlay: overlay.replaced(source, given.records, by_id))
        return self._with_functions(given)

    def remove(self, tool_ids: Iterable[str]) -> None:
        """Take tools out of the next request and out of every snapshot to come, until they are registered again."""
        self._live.change(lambda overlay: overlay.removed(tool_ids))

    def _with_functions(self, given: ToolSet) -> tuple[ToolRecord, ...]:
        self._functions.put((record.tool_id for record in given.records), given.functions)
        return given.records

    @property
    def functions(self) -> Functions:
        """The Python functions behind the tools that serve, by tool id: `router.functions[routed[0].tool_id]`."""
        return self._functions

    def call(self, tool_id: str, arguments: Mapping[str, Any]) -> Any:
        """Call the function behind a tool with the arguments that a model gave; what it returns, of an async one its
        coroutine.

        Arguments become what the annotations say: an Enum, a dataclass, a date. Raises RequestInvalid where no function
        is behind the tool, or the arguments do not fit it; what the function raises is its own.
        """
        return self._functions.call(tool_id, arguments)

    @property
    def overlay(self) -> Overlay:
        """What is registered and removed over the snapshot that serves; empty where nothing is."""
        return self._live.overlay

    def save_overlay(self, path: str | Path) -> None:
        """Write what is registered and removed, for `open(overlay=…)`. Raises OSError where that cannot be done."""
        self._live.save(Path(path))

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
        return len(self.tools)

    def record(self, tool_id: str) -> ToolRecord | None:
        """The record of a tool id; None where there is no such tool."""
        records = self._live.snapshot.records
        ordinal = records.ordinal(tool_id)
        return None if ordinal is None else records.entry(ordinal).record

    @property
    def selection(self) -> Selection:
        """That of every request that brings none of its own."""
        return self._selection

    def tokens(self, tool_id: str) -> Mapping[str, Mapping[str, int]] | None:
        """The tokens of a tool in each form and detail; None where there is no such tool.

        Counted when it was built (`manifest.token_counter` says by what), or estimated when it was registered.
        """
        snapshot = self._live.snapshot
        ordinal = snapshot.records.ordinal(tool_id)
        if ordinal is None:
            return None
        details = [str(detail) for detail in Detail]
        counts = {form: snapshot.tokens.of(form, [ordinal])[0].tolist() for form in Form}
        return {str(form): dict(zip(details, row, strict=True)) for form, row in counts.items()}

    def tool_id_of(self, name: str) -> str | None:
        """The id of the tool that any answer hands over under this name; None where there is no such tool.

        A name in which nothing was lost is read backwards; for those that end in a hash the ids of all tools are read,
        once a snapshot and overlay: .3 s for 10,000.
        """
        records = self._live.snapshot.records
        return id_of(name, lambda tool_id: records.ordinal(tool_id) is not None, lambda: records.facets.hashed_names)

    @property
    def tools(self) -> Records:
        """The records of all tools by id, each read when it is looked at."""
        return Records(self._live.snapshot.records)

    @property
    def size(self) -> int:
        """How many tools there are."""
        return len(self)

    def route(
        self,
        request: str | Sequence[Message],
        *,
        k: int = 10,
        explain: bool = False,
        recipe: str | Recipe | None = None,
        selection: Selection | None = None,
        category: str | None = None,
        category_confidence: float | None = None,
        token_budget: int | None = None,
        form: Form | str | None = None,
        detail: Detail | str = Detail.FULL,
        shorten: bool = True,
    ) -> RoutedTools:
        """The `k` tools that best fit a request, or a dialogue of messages, oldest first: the latest counts most.

        An answer holds no more tools than the recipe's lists do together (`depth` each), so it may be shorter than k.
        `recipe` is a Recipe, the name of one ("default", "adaptive", "published", "lexical"), or None for the
        snapshot's own. `explain=True` adds ranks, contributions and the matching phrase to each tool.

        `selection` filters and orders what is found, in place of the router's own; `category`, with its confidence from
        0 to 1, is what it may go by. `token_budget`: as many of the tools as fit, in tokens of `form` ("openai",
        "responses", "anthropic", "mcp", "langchain"; with one given, its provider's cap on the number of tools holds).
        `detail` is the most that is told of each ("full", "short", "signature"); `shorten` whether full ones may be
        shortened where more tools then fit. Those of `always` come out of the budget first, and are not shortened.

        Raises RequestInvalid for an empty request, k < 1, a budget < 1 or a confidence out of its range;
        SettingsInvalid for an unknown recipe, form or detail, and for a combined score without vectors;
        NothingSelected where no tool is left and the selection wants an error then.
        """
        options = self._options(
            k, explain, recipe, selection, category, category_confidence, token_budget, form, detail, shorten
        )
        with tracing.route(request, k) as span:
            routed = answer(self._live.snapshot, _clean(said(request)), options)
            span.answered(routed)
        return routed

    def route_many(self, requests: Sequence[str], **options: Unpack[RouteOptions]) -> list[RoutedTools]:
        """The answers of `route`, with its options, to many requests: in their order and all of one snapshot.

        They and their steps are encoded first, in batches of like length, which takes an fp32 encoder a quarter less
        time; an int8 one, whose vectors would depend on their batch, encodes one by one. Raises RequestInvalid, with
        its place, for a request that `route` refuses, before any is answered.
        """
        asked = self._options(**options)
        if isinstance(requests, str):
            raise RequestInvalid("requests is a single text, it must be a sequence of texts: `route` takes one")
        if not isinstance(requests, Iterable):
            raise RequestInvalid(f"requests is {requests!r:.80}, it must be a sequence of texts")
        cleaned = [_clean_at(place, request) for place, request in enumerate(requests)]
        snapshot = self._live.snapshot
        ahead = with_vectors(snapshot, cleaned, recipe_of(snapshot, asked.recipe))
        answers = []
        for request in cleaned:
            with tracing.route(request, asked.k) as span:
                answers.append(answer(ahead, Said(request), asked))
                span.answered(answers[-1])
        return answers

    async def route_async(self, request: str | Sequence[Message], **options: Unpack[RouteOptions]) -> RoutedTools:
        """`route` beside the event loop, on a few threads of the router's own. `close` ends them."""
        return await self._aside.run(partial(self.route, request, **options))

    async def route_many_async(self, requests: Sequence[str], **options: Unpack[RouteOptions]) -> list[RoutedTools]:
        """`route_many` beside the event loop."""
        return await self._aside.run(partial(self.route_many, requests, **options))

    def select(self, request: str | Sequence[Message], k: int = 5, token_budget: int | None = None) -> list[ToolRecord]:
        """The records alone: those that the router's selection always has, then the best `k`; with a budget, those that
        fit it.

        Tokens are those of a whole tool in OpenAI's function form, counted at build time (`manifest.token_counter` says
        by what). Raises what `route` raises.
        """
        routed = self.route(request, k=k, token_budget=token_budget, shorten=False)
        return [tool.record for tool in (*routed.always, *routed.tools)]

    async def select_async(
        self, request: str | Sequence[Message], k: int = 5, token_budget: int | None = None
    ) -> list[ToolRecord]:
        """`select` beside the event loop."""
        return await self._aside.run(partial(self.select, request, k, token_budget))

    def _options(
        self,
        k: int = 10,
        explain: bool = False,
        recipe: str | Recipe | None = None,
        selection: Selection | None = None,
        category: str | None = None,
        category_confidence: float | None = None,
        token_budget: int | None = None,
        form: Form | str | None = None,
        detail: Detail | str = Detail.FULL,
        shorten: bool = True,
    ) -> Options:
        """What `route` takes, checked, with the router's own where nothing is said."""
        return Options(
            k,
            explain,
            recipe,
            self._selection if selection is None else selection,
            category,
            category_confidence,
            token_budget,
            None if form is None else parse_choice(Form, form),
            parse_choice(Detail, detail),
            shorten,
            self._rerank,
        )

    def explain(
        self, request: str, tool_id: str, *, recipe: str | Recipe | None = None
    ) -> tuple[RoutedTool, int | None]:
        """Why a tool ranks where it does: the tool with its rank in every whole list, and its fused rank.

        The fused rank is None where no list holds the tool within the recipe's depth. No selection counts here, the
        router's own neither. Raises RequestInvalid where the snapshot has no such tool.
        """
        snapshot = self._live.snapshot
        return explanation(snapshot, request, tool_id, recipe_of(snapshot, recipe))

    def rankings(self, request: str, *, recipe: str | Recipe | None = None) -> dict[str, Ranking]:
        """Each signal's own ranking, before fusion: ordinals and raw scores, for evaluation and study.

        Ordinals are of one snapshot: to read them with `tool_id`, open the router without `watch`.
        """
        snapshot = self._live.snapshot
        chosen = recipe_of(snapshot, recipe)
        asked = encode(snapshot, [clean(request)], chosen)[0]
        return {str(signal): found for signal, found in rank(snapshot, asked, chosen, chosen.depth).items()}

    def lists(self, request: str, *, recipe: str | Recipe | None = None) -> tuple[Mapping[str, Ranking], Ranking]:
        """Each signal's own ranking of the whole request, and the fused one that `route` cuts to k."""
        snapshot = self._live.snapshot
        found = search(snapshot, clean(request), recipe_of(snapshot, recipe))
        return {str(signal): ranking for signal, ranking in found.rankings.items()}, found.ranking

    def tool_id(self, ordinal: int) -> str:
        """The tool id of an ordinal of `rankings`."""
        return self._live.snapshot.records.tool_id(ordinal)

    def recipe(self, recipe: str | Recipe | None = None) -> Recipe:
        """The recipe that a name stands for; the snapshot's own for None. Raises SettingsInvalid."""
        return recipe_of(self._live.snapshot, recipe)


def _told(given: ToolSet) -> ToolSet:
    for note in given.notes:
        _logger.warning("%s", note)
    return given


def _clean(said: Said) -> Said:
    return Said(clean(said.request), tuple(map(clean, said.earlier)))


def _clean_at(place: int, request: str) -> str:
    if not isinstance(request, str):
        raise RequestInvalid(f"requests[{place}] is {request!r}, it must be a text")
    try:
        return clean(request)
    except RequestInvalid as error:
        raise RequestInvalid(f"requests[{place}]: {error}") from None
