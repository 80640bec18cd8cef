"""Quartermaster's router: the few tools that fit a request, out of thousands, in milliseconds.

It reads a snapshot that `quartermaster build` published, or takes the tools of a program as they are, and needs neither
torch, prefect, openai nor sentence-transformers.

Try. Python functions, definitions in any form that a build reads, MCP and LangChain tools, in memory: no build and no
file. The answer leads back to the function, which `call` gives a model's arguments.

    >>> from router import Router
    >>> def refund_charge(charge: str, amount: int | None = None) -> str:
    ...     "Give a customer the money of a charge back, all of it or a part."
    ...     return f"refunded {charge}"
    >>> in_memory = Router.from_tools([refund_charge], encoder=None)
    >>> in_memory.route("return the money to the customer").ids
    >>> in_memory.functions["refund_charge"]("ch_1"), in_memory.call("refund_charge", {"charge": "ch_1"})

Open once, and keep: every checksum is verified, files are mapped into memory, one router serves many threads.

    >>> router = Router.open(".quartermaster/snapshots/demo")   # or one snapshot's folder

Route. An answer is immutable, best tool first; the same request gives the same answer.

    >>> routed = router.route("give the customer half of the money back", k=5)
    >>> routed.ids                          # the ids alone
    >>> routed[0].record.input_schema       # what a model needs to call the tool
    >>> routed.snapshot, routed.recipe      # what answered, for your logs
    >>> routed.none_fits, routed.fits       # whether no tool fits, and how likely it is that one does
    >>> routed.steps                        # the steps of a request of several, all of them covered
    >>> routed.to_json()

Select. The records alone, as many as fit into a budget of tokens.

    >>> records = router.select("give the customer half of the money back", k=5, token_budget=1_500)
    >>> router.size, router.tools[0].tool_id

Hand over. Tools as a provider takes them, under names that it takes, and the way back from a name to the id. Within a
budget, tools are shortened before any is left out; `dropped` says which were, and why.

    >>> routed = router.route("give the customer half of the money back", token_budget=600, form="anthropic")
    >>> handed = routed.render()            # or "openai", "responses", "mcp", "langchain"
    >>> handed.tools, [handed.tool_id(name) for name in handed.names]
    >>> [(out.tool_id, out.reason) for out in routed.dropped]

Filter. By lists, providers, categories and hints before the search; by overlap and combined score after it. Whatever is
out of its range is refused with the field.

    >>> from router import Selection, Weights
    >>> safe = Selection(block=("*delete*",), annotations={"readOnlyHint": True}, always=("stripe/createRefund",))
    >>> strict = Selection(min_lexical_overlap=1, min_combined_score=0.35, weights=Weights(embed=0.7, lexical=0.2))
    >>> router.route("who is on call", selection=safe).always
    >>> router.route("who is on call", selection=strict, explain=True).dropped
    >>> router.route("who is on call", selection=Selection(use_category_filter=True), category="paging").notes

Converse. Several messages are one request, the latest of which counts most. A StableSelection keeps the tools of
earlier turns in their places while they are useful, so that the provider's prompt cache holds.

    >>> router.route(["give the customer half of the money back", {"role": "user", "content": "and tell them so"}])
    >>> from router import StableSelection
    >>> dialogue = StableSelection(router, k=5)
    >>> dialogue.select("give the customer half of the money back").ids
    >>> dialogue.select("tell them so").added

Explain. Four lists are fused: three BM25 rankings (name, description, expansion) and cosine (dense); a fifth, of past
requests (intent), where a catalog has them. For each tool its rank in each list, what that gave to its score, the step
that it serves, and the generated phrase that came nearest; or, for one tool, its rank in whole lists, however far down.

    >>> for tool in router.route("give the customer half of the money back", k=5, explain=True):
    ...     print(tool.tool_id, dict(tool.ranks), dict(tool.contributions), tool.phrase)
    >>> tool, rank = router.explain("give the customer half of the money back", "stripe/createRefund")

Recipes say how the lists are fused: "default" (what measured best), "adaptive" (by ranks), "published", "lexical" (no
encoder is run), or your own. A signal without a weight is not computed.

    >>> from router import DenseView, Fusion, Recipe, Signal
    >>> mine = Recipe("mine", Fusion.RRF, {Signal.EXPANSION: 1, Signal.DENSE: 2}, k=10, dense_view=DenseView.MEAN)
    >>> router.route("who is on call", recipe=mine)

Serve. A service keeps one router for all its threads. What a build publishes is picked up without a restart, at the
next look, every `watch` seconds. Each answer is wholly of one snapshot, the old one goes with the last request that it
answers, and one that is corrupt is refused with a warning (logger "router") while the old one serves on. Workers open
it after their fork: the files are mapped, so that they share the pages.

    >>> with Router.open(".quartermaster/snapshots/demo", watch=5, request_cache=1024) as serving:
    ...     one, other = serving.route_many(["undo a payment", "who is on call"], k=5)    # encoded together
    ...     serving.cache.hit_rate          # of the vectors of the last 1,024 requests
    >>> router.reload()                     # by hand; whether another snapshot serves now
    >>> import asyncio
    >>> asyncio.run(router.route_async("who is on call"))    # beside an event loop, on threads of the router's own
    >>> router.close()                      # ends those threads

Errors, all of them QuartermasterError: RequestInvalid (an empty request, k = 0: the router stays open), NothingSelected
(no tool is left, and the selection wants an error then), SettingsInvalid (an unknown recipe, a wrong weight or
interval), SnapshotInvalid (missing, corrupt, or of another format: nothing is opened).

`router.evaluation` has the metrics, `router.benchmark` measures a router on judged requests, `router.store` publishes
and rolls back snapshots.
"""

from router.answer.reranking import Reranking, RerankingFailed, cross_encoder
from router.answer.results import Dropped, RoutedTool, RoutedTools
from router.contract import Manifest, Signal
from router.dialogue.stable_selection import StableSelection
from router.dialogue.turn import Turn
from router.errors import NothingSelected, QuartermasterError, RequestInvalid, SettingsInvalid, SnapshotInvalid
from router.provider_formats import Detail, Form, Rendered, render
from router.record import Origin, Parameter, ToolRecord
from router.retrieval.recipe import RECIPES, Fusion, Normalization, Recipe
from router.retrieval.retrievers import DenseView
from router.router import Router
from router.search.conversation import Message
from router.selection import Selection, Weights
from router.snapshot.cached_encoder import CacheStatistics

__all__ = [
    "RECIPES",
    "CacheStatistics",
    "DenseView",
    "Detail",
    "Dropped",
    "Form",
    "Fusion",
    "Manifest",
    "Message",
    "Normalization",
    "NothingSelected",
    "Origin",
    "Parameter",
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
    "StableSelection",
    "ToolRecord",
    "Turn",
    "Weights",
    "cross_encoder",
    "render",
]
