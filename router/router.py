"""The router: a request in, the few tools that fit out, with the reasons."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from router.answer.executor import ASKING, THREADS, Executor
from router.answer.options import (
    CheckedOptions,
    RouteOptions,
    SharedOptions,
    documents_route_options,
    options_within,
    recipe_of,
)
from router.answer.recording import record_answer, record_outcome
from router.answer.reranking import Reranking
from router.answer.respond import respond, respond_many
from router.answer.results import RoutedTools
from router.errors import SettingsInvalid, quoted
from router.provider_formats.formats import VendorText, parse_choice
from router.query.needs import AskNeeds, check_ask_needs, clean_needs
from router.record import ToolRecord
from router.registration import ToolRegistration, read_with_warnings
from router.retrieval.recipe import Recipe, RecipeName
from router.retrieval.retrievers import Ranking
from router.search.conversation import Message
from router.search.search import clean_request, search
from router.selection.settings import Selection
from router.snapshot.cached_encoder import CacheStatistics, request_cache_statistics, with_request_cache
from router.snapshot.current import Freshness, LiveSnapshot
from router.snapshot.phrases import phrases_by_id
from router.snapshot.reloading import ReloadingSnapshot, checked_request_cache
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.protocol import ReadableStore
from router.typed import converted

if TYPE_CHECKING:
    from router.answer.diagnosis import Diagnosis
    from router.feedback import FeedbackLog, Outcome
    from router.selection.profile import Profile
    from router.signing.trusted_keys import KeySources
    from router.snapshot.memory import EncoderChoice
    from router.tools.functions.reading import Tools


class Router(ToolRegistration):
    """Routes requests to the tools of a snapshot, or of a program.

    Make one by `open` or `from_tools`, and keep it: one router serves many threads, and none waits for another. Each
    answer comes from one snapshot and names it.
    """

    # Every public method takes the snapshot once: the next look may find another.
    # What few routers need is imported where it is needed: see docs/decisions/layers.md.

    def __init__(
        self,
        served: Snapshot | LiveSnapshot,
        selection: Selection | None = None,
        rerank: Reranking | None = None,
        vendor_text: VendorText | str = VendorText.TRUSTED,
        feedback: "FeedbackLog | None" = None,
        ask_needs: AskNeeds | None = None,
    ) -> None:
        """Internal: use `open` or `from_tools`."""
        text = parse_choice(VendorText, vendor_text)
        if feedback is not None and not _is_feedback_log(feedback):
            raise SettingsInvalid(f"feedback is {quoted(feedback)}, it must be a FeedbackLog")
        check_ask_needs(ask_needs)
        super().__init__(ReloadingSnapshot(served) if isinstance(served, Snapshot) else served, text)
        self._executor = Executor(THREADS if ask_needs is None else THREADS + ASKING)
        self.feedback_log, self.ask_needs = feedback, ask_needs
        # A value of another type is refused here, not by the first request.
        own = {"selection": Selection() if selection is None else selection, "rerank": rerank, "vendor_text": text}
        self._defaults = converted({**own, "ask_needs": ask_needs}, CheckedOptions)

    @classmethod
    def open(
        cls,
        path: str | Path | ReadableStore,
        *,
        watch: float | None = None,
        cache_dir: str | Path | None = None,
        request_cache: int = 0,
        selection: Selection | None = None,
        rerank: Reranking | None = None,
        overlay: str | Path | None = None,
        trusted_keys: "KeySources | None" = None,
        catalog: str | None = None,
        trust_state: str | Path | None = None,
        vendor_text: VendorText | str = VendorText.TRUSTED,
        feedback: "FeedbackLog | None" = None,
        ask_needs: AskNeeds | None = None,
    ) -> "Router":
        """Open a snapshot and verify its checksums, and with `trusted_keys` its signature.

        Args:
            path: A snapshot's folder, a catalog's folder (`snapshots/<catalog>`) with its CURRENT, a store, or the
                address of a catalog in a bucket, such as "s3://bucket/catalogs/demo". A bucket's snapshots are fetched
                into a cache; where the bucket gives none, what the cache served last serves, with a warning.
            watch: Seconds between two looks for a newer snapshot, by a thread that ends with the router. A newer one
                replaces the old; one that cannot be opened is refused with a warning of the logger "router". With None
                only `reload` looks.
            cache_dir: With an address: the folder of caches, which processes may share; by default that of the
                environment variable QUARTERMASTER_CACHE_DIR, else the user's cache.
            request_cache: How many requests' vectors to keep: 1.5 KB for each request and each of its steps.
            selection: The selection of every request that brings none of its own.
            rerank: A second pass over the best tools of each answer.
            overlay: A file that `save_overlay` wrote: tools that are registered and removed from the start.
            trusted_keys: Public keys (`ed25519:…`) and files of keys. A snapshot then serves only if one of them signed
                it, and if it is not older than one that served; see docs/operations.md.
            catalog: With `trusted_keys`: the name of the catalog that the snapshot must be of; by default that of the
                catalog's folder in `path`.
            trust_state: With `trusted_keys`: a file that keeps the number of the newest snapshot over restarts.
            vendor_text: What a model is handed of the vendors' own text: "trusted", without prompt injection, or
                "verbatim". Records and explanations always have all of it.
            feedback: The log of what answers offered and what became of it, which a build learns from. The router
                closes it; several routers may share one.
            ask_needs: Takes the text of a request (of a dialogue, the latest message) for which `route` is given no
                needs, and returns what it supposes them to be; it must bound its own time. Where it raises, or returns
                anything else, the request is routed without. The router calls its `close`, where it has one.

        Raises:
            SnapshotInvalid: There is no snapshot, or it is corrupt, or made for another version of the router.
            SnapshotUntrusted: No trusted key signed it, it is of another catalog, or it is older than one that served.
            SettingsInvalid: A setting is out of its range.
        """
        saved = None if overlay is None else Path(overlay)
        live = ReloadingSnapshot.open(
            path,
            watch=watch,
            cache_dir=cache_dir,
            request_cache=request_cache,
            overlay=saved,
            trusted_keys=trusted_keys,
            catalog=catalog,
            trust_state=trust_state,
        )
        return cls(live, selection, rerank, vendor_text, feedback, ask_needs)

    @classmethod
    def from_tools(
        cls,
        tools: "Tools",
        *,
        provider: str | None = None,
        phrases: Mapping[str, Sequence[str]] | None = None,
        encoder: "EncoderChoice" = "auto",
        selection: Selection | None = None,
        rerank: Reranking | None = None,
        request_cache: int = 0,
        vendor_text: VendorText | str = VendorText.TRUSTED,
        feedback: "FeedbackLog | None" = None,
        ask_needs: AskNeeds | None = None,
        strict: bool = False,
    ) -> "Router":
        """Return a router over tools in memory: no workspace, no build, no file.

        The logger "router" warns of what is no tool and left out, and of tools that were renamed or merged, or have no
        JSON form.

        Args:
            tools: Python functions (with name, docstring and annotations), definitions as OpenAI, Anthropic and MCP
                write them, MCP's, LangChain's and LlamaIndex's own objects, or records; or a mapping from a provider's
                label to such a list.
            provider: The label of these tools, in place of their own; it begins their ids.
            phrases: Requests that a tool is for, by its id or name.
            encoder: Makes the vectors. "auto" is the encoder that comes with Quartermaster, exported once a user; where
                its base is not installed there is none, and a warning says how to install it. None is none; else the
                folder of an exported encoder or of a snapshot, or an object with `encode(texts)`.
            selection: As in `open`.
            rerank: As in `open`.
            request_cache: As in `open`.
            vendor_text: As in `open`.
            feedback: As in `open`.
            ask_needs: As in `open`.
            strict: Whether a single value that is no tool is an error, rather than left out with a warning.

        Raises:
            SettingsInvalid: There is no tool, or with `strict` a value is none; the message names its place.
            SnapshotInvalid: The encoder does not load.
        """
        from router.snapshot.memory import open_encoder, snapshot_from_records

        checked_request_cache(request_cache)
        tool_set = read_with_warnings(tools, provider, strict=strict)
        if not tool_set.records:
            raise SettingsInvalid("tools is empty: give at least one function or definition")
        opened = open_encoder(encoder, len(tool_set.records))
        snapshot = snapshot_from_records(tool_set.records, phrases_by_id(phrases, tool_set.records), opened)
        live = ReloadingSnapshot(with_request_cache(snapshot, request_cache))
        router = cls(live, selection, rerank, vendor_text, feedback, ask_needs)
        router._with_functions(tool_set)
        return router

    @documents_route_options
    def route(self, request: str | Sequence[Message], **options: Unpack[RouteOptions]) -> RoutedTools:
        """Return the tools that best fit a request. The same request gives the same answer.

        Args:
            request: A text, or the messages of a dialogue, oldest first: the latest counts most.

        Raises:
            RequestInvalid: The request is empty, k or the budget is below 1, a confidence is out of its range, or the
                router is closed.
            SettingsInvalid: A recipe, form or detail is unknown, or a combined score is asked for without vectors.
            NothingSelected: No tool is left, and the selection asks for an error then.
            TypeError: An option is unknown.
        """
        checked = self._checked(options)
        return record_answer(self.feedback_log, respond(self._live.snapshot, request, checked), request, checked)

    @documents_route_options
    def route_many(
        self, requests: Sequence[str], *, needs: Sequence[Sequence[str]] | None = None, **options: Unpack[SharedOptions]
    ) -> list[RoutedTools]:
        """Return the answers of `route` to many requests, in their order and all from one snapshot.

        They and their steps are encoded first, in batches of like length, which takes an fp32 encoder a quarter less
        time. An int8 encoder encodes one by one, since its vectors would depend on their batch.

        Args:
            requests: The texts.
            needs: The needs of each request, as `route` takes them; by default none has any, and nobody is asked.

        Raises:
            RequestInvalid: `route` refuses a request. The message names its place, and none is answered.
        """
        checked = self._checked(options)
        answers = respond_many(self._live.snapshot, requests, needs or (), checked)
        return [
            record_answer(self.feedback_log, routed, request, checked)
            for request, routed in zip(requests, answers, strict=True)
        ]

    @documents_route_options
    async def route_async(self, request: str | Sequence[Message], **options: Unpack[RouteOptions]) -> RoutedTools:
        """Run `route` beside the event loop, on a few threads of the router's own. `close` ends them."""
        return await self._executor.run(partial(self.route, request, **options))

    @documents_route_options
    async def route_many_async(
        self, requests: Sequence[str], *, needs: Sequence[Sequence[str]] | None = None, **options: Unpack[SharedOptions]
    ) -> list[RoutedTools]:
        """Run `route_many` beside the event loop.

        Args:
            requests: As in `route_many`.
            needs: As in `route_many`.
        """
        return await self._executor.run(partial(self.route_many, requests, needs=needs, **options))

    def select(self, request: str | Sequence[Message], k: int = 5, token_budget: int | None = None) -> list[ToolRecord]:
        """Return records: those that the selection always has, then the best `k`, or those that fit the budget.

        Args:
            request: As in `route`.
            k: The greatest number of ranked tools.
            token_budget: The greatest number of tokens of whole tools in OpenAI's format; `manifest.token_counter` says
                how they were counted.

        Raises:
            QuartermasterError: As in `route`.
        """
        routed = self.route(request, k=k, token_budget=token_budget, shorten=False)
        return [tool.record for tool in (*routed.always, *routed.tools)]

    def _checked(self, options: SharedOptions) -> CheckedOptions:
        self._executor.require_open()
        return CheckedOptions.of(options, self._defaults)

    def feedback(
        self, answer: RoutedTools | str, tool_id: str, outcome: "Outcome | str", *, caller: str | None = None
    ) -> None:
        """Record what became of a tool, for the next build to learn from. It takes microseconds, and never waits.

        Args:
            answer: The answer that offered the tool; or the text of a request, to name the tool that is right for it.
            tool_id: The tool's id.
            outcome: "called", "succeeded", "failed" or "rejected"; the last report on a tool of an answer counts.
            caller: Who asked, as given to `route`.

        Raises:
            SettingsInvalid: The router has no feedback log, or the outcome is unknown.
            RequestInvalid: The answer is in no log, the text is empty, or the tool's id is not a text.
        """
        snapshot = self.manifest.snapshot
        record_outcome(self.feedback_log, answer, tool_id, outcome, snapshot, caller)

    @documents_route_options
    def diagnose(self, request: str, tool_id: str, **options: Unpack[RouteOptions]) -> "Diagnosis":
        """Return why `route` finds a tool for a request, or does not: its place in every list, and what is before it.

        Raises what `route` raises, and RequestInvalid where the snapshot has no such tool.
        """
        from router.answer.diagnosis import diagnose

        return diagnose(self._live.snapshot, request, tool_id, self._checked(options))

    def lists(
        self, request: str, *, needs: Sequence[str] | None = None, recipe: RecipeName | Recipe | None = None
    ) -> tuple[Mapping[str, Ranking], Ranking]:
        """Return each signal's ranking of the whole request, and the fused one that `route` cuts to k, for study.

        A ranking has ordinals and raw scores. Ordinals are valid for one snapshot only: to read them with `tool_id`,
        open the router without `watch`.
        """
        snapshot, request = self._live.snapshot, clean_request(request)
        stated = clean_needs(self._checked(RouteOptions(needs=needs)).needs or (), request)
        result = search(snapshot, request, recipe_of(snapshot, recipe), needs=stated)
        return {str(signal): ranking for signal, ranking in result.rankings.items()}, result.ranking

    def recipe(self, recipe: str | Recipe | None = None) -> Recipe:
        """Return the recipe of any name; the snapshot's own for None.

        Raises:
            SettingsInvalid: No recipe has that name.
        """
        return recipe_of(self._live.snapshot, recipe)

    @property
    def selection(self) -> Selection:
        """Return the selection of every request that brings none of its own."""
        return self._defaults.selection

    @property
    def cache(self) -> CacheStatistics:
        """Return the hits and misses of the request cache; a new snapshot with the same encoder keeps them."""
        return request_cache_statistics(self._live.snapshot)

    def for_profile(self, profile: "Profile") -> "Router":
        """Return this router as a profile's callers may use it: to them, tools outside of the profile do not exist.

        It serves what this router serves, and is closed with it. A request's own selection, k and budget narrow the
        profile, and never widen it. Tools cannot be registered, replaced or removed through it.
        """
        return _ProfileRouter(self, profile)

    def reload(self) -> bool:
        """Serve the store's current snapshot. Return whether it is another one; False in memory.

        The new one is opened and verified while the old one serves. The old one goes with the last request that it
        answers.

        Raises:
            SnapshotInvalid: The new one cannot be opened. The old one serves on.
        """
        return self._live.reload()

    @property
    def refusal(self) -> str:
        """Return why the newest publication was refused, so that an older one serves; empty where it serves."""
        return self._live.refusal

    @property
    def freshness(self) -> Freshness:
        """Return when the source was last read, and when what serves was last found to be its newest."""
        return self._live.freshness

    @property
    def folder(self) -> Path | None:
        """Return the folder of the snapshot that serves; None in memory."""
        return self._live.snapshot.folder

    def close(self) -> None:
        """End the router's own threads, where it has any, and write what its feedback log holds yet."""
        self._live.close()
        if close := getattr(self.ask_needs, "close", None):
            close()  # first: calls that the executor runs may wait for it
        self._executor.close()
        if self.feedback_log is not None:
            self.feedback_log.close()

    async def aclose(self) -> None:
        """Run `close` beside the event loop, which goes on while running calls end."""
        import asyncio

        await asyncio.to_thread(self.close)

    def __reduce__(self) -> str:
        raise TypeError(
            "a router cannot be pickled or copied: open one in each process by Router.open or Router.from_tools, or "
            "open it before the process forks"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _is_feedback_log(value: object) -> bool:
    from router.feedback import FeedbackLog  # here: most routers keep no log

    return isinstance(value, FeedbackLog)


class _ProfileRouter(Router):
    """A router over another's tools, as a profile sees them. Its threads are the other's."""

    def __init__(self, whole: Router, profile: "Profile") -> None:
        from router.selection.profile import ProfileSnapshot

        live = ProfileSnapshot(whole._live, profile)
        selection, rerank = profile.narrow(whole.selection), whole._defaults.rerank
        super().__init__(live, selection, rerank, whole.vendor_text, whole.feedback_log, whole.ask_needs)
        self._whole, self._profile = whole, profile
        self._executor = whole._executor
        self._functions = whole.functions.where(
            lambda tool_id: profile.call and live.snapshot.records.ordinal(tool_id) is not None
        )

    def _checked(self, options: SharedOptions) -> CheckedOptions:
        return options_within(self._profile, self._whole._checked(options))

    def close(self) -> None:
        """Do nothing: the router that this was made of closes both."""
