"""Quartermaster's router: it finds the few tools that fit a request, out of thousands, in milliseconds.

It reads a snapshot that `quartermaster build` published, or takes the tools of a program as they are. It does not need
torch, prefect, openai or sentence-transformers.

Try it. Python functions, definitions in any format that a build reads, MCP, LangChain and LlamaIndex tools, in memory:
no build and no file. An answer names the tool, and `call` runs its function with a model's arguments.

    >>> from router import Router
    >>> def refund_charge(charge: str, amount: int | None = None) -> str:
    ...     "Give a customer the money of a charge back, all of it or a part."
    ...     return f"refunded {charge}"
    >>> in_memory = Router.from_tools([refund_charge], encoder=None)
    >>> in_memory.route("return the money to the customer").ids
    >>> in_memory.functions["refund_charge"]("ch_1"), in_memory.call("refund_charge", {"charge": "ch_1"})

Open it once, and keep it. Every checksum is verified, files are mapped into memory, one router serves many threads.

    >>> router = Router.open(".quartermaster/snapshots/demo")   # or one snapshot's folder

Route a request. An answer is immutable and has the best tool first; the same request gives the same answer.

    >>> routed = router.route("give the customer half of the money back", k=5)
    >>> routed.ids                          # the ids alone
    >>> routed[0].record.input_schema       # what a model needs to call the tool
    >>> routed.snapshot, routed.recipe      # for your logs
    >>> routed.none_fits, routed.fits       # whether no tool fits, and how likely it is that one does
    >>> routed.steps                        # the steps of a request of several
    >>> routed.to_json()

Select records alone, as many as fit into a budget of tokens.

    >>> records = router.select("give the customer half of the money back", k=5, token_budget=1_500)
    >>> router.size, router.tools[0].tool_id

Hand tools over in a provider's format, under names that it accepts, and get from a name back to the id. Within a
budget, tools are shortened before any is left out; `dropped` says which were left out, and why.

    >>> routed = router.route("give the customer half of the money back", token_budget=600, form="anthropic")
    >>> handed = routed.render()            # or "openai", "responses", "mcp", "langchain"
    >>> handed.tools, [handed.tool_id(name) for name in handed.names]
    >>> [(out.tool_id, out.reason) for out in routed.dropped]

Filter by lists, providers, categories and hints before the search, and by overlap and combined score after it. A value
out of its range is refused with the name of its field.

    >>> from router import Selection, Weights
    >>> safe = Selection(block=("*delete*",), annotations={"readOnlyHint": True}, always=("stripe/createRefund",))
    >>> strict = Selection(min_lexical_overlap=1, min_combined_score=0.35, weights=Weights(embed=0.7, lexical=0.2))
    >>> router.route("who is on call", selection=safe).always
    >>> router.route("who is on call", selection=strict, explain=True).dropped
    >>> router.route("who is on call", selection=Selection(use_category_filter=True), category="paging").notes

Follow a dialogue. Several messages are one request, of which the latest counts most. A StableSelection keeps the tools
of earlier turns in their places while they are useful, so that the provider's prompt cache holds.

    >>> router.route(["give the customer half of the money back", {"role": "user", "content": "and tell them so"}])
    >>> from router import StableSelection
    >>> dialogue = StableSelection(router, k=5)
    >>> dialogue.select("give the customer half of the money back").ids
    >>> dialogue.select("tell them so").added

Explain an answer. Four lists are fused: three BM25 rankings (name, description, expansion) and cosine (dense); a fifth,
of past requests (intent), where a catalog has them. `explain=True` adds to each tool its rank in each list, the
contributions to its score, the step that it serves, and the nearest generated phrase. `explain` gives the rank of one
tool in whole lists, however far down.

    >>> for tool in router.route("give the customer half of the money back", k=5, explain=True):
    ...     print(tool.tool_id, dict(tool.ranks), dict(tool.contributions), tool.phrase)
    >>> tool, rank = router.explain("give the customer half of the money back", "stripe/createRefund")

See which tools must run first: what a tool needs that people do not say, and the tools that find it. An answer brings
them, and says of each which tool needs it.

    >>> router.prerequisites("stripe/createRefund"), router.needed_by("stripe/listCharges")
    >>> [(tool.tool_id, tool.needed_by) for tool in router.route("undo a payment") if tool.needed_by]

Recipes say how the lists are fused: "default" (weighted RRF), "standard" (by standard scores), "adaptive" (by places
alone), "published", "lexical" (no encoder runs), or your own. A signal without a weight is not computed.

    >>> from router import DenseView, Fusion, Recipe, Signal
    >>> mine = Recipe("mine", Fusion.RRF, {Signal.EXPANSION: 1, Signal.DENSE: 2}, k=10, dense_view=DenseView.MEAN)
    >>> router.route("who is on call", recipe=mine)

Serve with one router for all threads. It looks for a new snapshot every `watch` seconds, without a restart. Each answer
is of one snapshot, the old one goes with the last request that it answers, and a corrupt one is refused with a warning
(logger "router") while the old one serves on. Worker processes open their router after the fork: the files are mapped,
so that they share the pages.

    >>> with Router.open(".quartermaster/snapshots/demo", watch=5, request_cache=1024) as serving:
    ...     one, other = serving.route_many(["undo a payment", "who is on call"], k=5)    # encoded together
    ...     serving.cache.hit_rate          # of the vectors of the last 1,024 requests
    >>> router.reload()                     # by hand; True where another snapshot serves now
    >>> import asyncio
    >>> asyncio.run(router.route_async("who is on call"))    # on threads of the router's own
    >>> router.close()                      # ends those threads

All errors are QuartermasterError: RequestInvalid (an empty request, k = 0), NothingSelected (no tool is left, and the
selection asks for an error then), SettingsInvalid (an unknown recipe, a wrong weight or interval), SnapshotInvalid (a
snapshot is missing, corrupt, or of another format).

`router.store` publishes and rolls back snapshots. Around the router: `quartermaster.evaluation` measures it on judged
requests, `quartermaster.adapters` stands behind agent frameworks, `quartermaster.serving` serves it, and
`quartermaster.calling` calls the tools.
"""

from typing import TYPE_CHECKING, Any

from router.errors import (
    NothingSelected,
    QuartermasterError,
    RequestInvalid,
    SettingsInvalid,
    SnapshotInvalid,
    SnapshotUntrusted,
)
from router.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from router.answer.diagnosis import Diagnosis
    from router.answer.explanation import ToolNeed, ToolResolver
    from router.answer.reranking import Reranking, RerankingFailed, cross_encoder
    from router.answer.results import Dropped, NeededBy, RoutedTool, RoutedTools
    from router.contract import Manifest, Signal
    from router.dialogue.stable_selection import StableSelection
    from router.dialogue.turn import Turn
    from router.feedback import FeedbackLog, FeedbackStatistics, Outcome
    from router.provider_formats import Detail, Form, Rendered, VendorText, render
    from router.record import Link, Origin, Parameter, ToolRecord
    from router.retrieval.recipe import RECIPES, Fusion, Normalization, Recipe
    from router.retrieval.retrievers import DenseView
    from router.router import Router
    from router.search.conversation import Message
    from router.selection import Profile, Selection, Weights
    from router.snapshot.cached_encoder import CacheStatistics
    from router.snapshot.difference import CatalogDifference

    __version__: str
else:
    # Lazily: a program pays for what it uses, and reading the version of a distribution takes long.
    _exported, __dir__ = lazy_exports(
        __name__,
        {
            "router.answer.diagnosis": "Diagnosis",
            "router.answer.explanation": "ToolNeed ToolResolver",
            "router.answer.reranking": "Reranking RerankingFailed cross_encoder",
            "router.answer.results": "Dropped NeededBy RoutedTool RoutedTools",
            "router.contract": "Manifest Signal",
            "router.dialogue.stable_selection": "StableSelection",
            "router.dialogue.turn": "Turn",
            "router.feedback": "FeedbackLog FeedbackStatistics Outcome",
            "router.provider_formats": "Detail Form Rendered VendorText render",
            "router.record": "Link Origin Parameter ToolRecord",
            "router.retrieval.recipe": "RECIPES Fusion Normalization Recipe",
            "router.retrieval.retrievers": "DenseView",
            "router.router": "Router",
            "router.search.conversation": "Message",
            "router.selection": "Profile Selection Weights",
            "router.snapshot.cached_encoder": "CacheStatistics",
            "router.snapshot.difference": "CatalogDifference",
        },
    )

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from router.distribution import version

            return version()
        return _exported(name)


__all__ = [
    "RECIPES",
    "CacheStatistics",
    "CatalogDifference",
    "DenseView",
    "Detail",
    "Diagnosis",
    "Dropped",
    "FeedbackLog",
    "FeedbackStatistics",
    "Form",
    "Fusion",
    "Link",
    "Manifest",
    "Message",
    "NeededBy",
    "Normalization",
    "NothingSelected",
    "Origin",
    "Outcome",
    "Parameter",
    "Profile",
    "QuartermasterError",
    "Recipe",
    "Rendered",
    "RequestInvalid",
    "Reranking",
    "RerankingFailed",
    "RoutedTool",
    "RoutedTools",
    "Router",
    "Selection",
    "SettingsInvalid",
    "Signal",
    "SnapshotInvalid",
    "SnapshotUntrusted",
    "StableSelection",
    "ToolNeed",
    "ToolRecord",
    "ToolResolver",
    "Turn",
    "VendorText",
    "Weights",
    "cross_encoder",
    "render",
]
