"""Quartermaster's router: the few tools that fit a request, out of thousands, in milliseconds.

It reads a snapshot that `quartermaster build` published, and needs neither torch, prefect, openai nor
sentence-transformers.

Open once, and keep: every checksum is verified, files are mapped into memory, one router serves many threads.

    >>> from router import Router
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

Errors, all of them QuartermasterError: RequestInvalid (an empty request, k = 0: the router stays open),
SettingsInvalid (an unknown recipe, a wrong weight or interval), SnapshotInvalid (missing, corrupt, or of another
format: nothing is opened).

`router.evaluation` has the metrics, `router.benchmark` measures a router on judged requests, `router.store` publishes
and rolls back snapshots.
"""

from router.cached_encoder import CacheStatistics
from router.contract import Manifest, Signal
from router.errors import QuartermasterError, RequestInvalid, SettingsInvalid, SnapshotInvalid
from router.recipe import RECIPES, Fusion, Normalization, Recipe
from router.record import Origin, Parameter, ToolRecord
from router.retrievers import DenseView
from router.routed import RoutedTool, RoutedTools
from router.router import Router

__all__ = [
    "RECIPES",
    "CacheStatistics",
    "DenseView",
    "Fusion",
    "Manifest",
    "Normalization",
    "Origin",
    "Parameter",
    "QuartermasterError",
    "Recipe",
    "RequestInvalid",
    "RoutedTool",
    "RoutedTools",
    "Router",
    "SettingsInvalid",
    "Signal",
    "SnapshotInvalid",
    "ToolRecord",
]
