"""Quartermaster's router: it finds the few tools that fit a request, out of thousands, in milliseconds.

It reads a snapshot that `quartermaster build` published, or takes the tools of a program as they are. It needs neither
torch nor prefect, openai or sentence-transformers.

    >>> from router import Router
    >>> router = Router.open(".quartermaster/snapshots/demo")       # once: one router serves many threads
    >>> routed = router.route("give the customer half of the money back", k=5)
    >>> routed.ids, routed[0].record.input_schema, routed.none_fits
    >>> in_memory = Router.from_tools([print], encoder=None)        # no build and no file
    >>> router.close()

All errors are QuartermasterError: RequestInvalid (an empty request, k = 0), NothingSelected (no tool is left, and the
selection asks for an error then), SettingsInvalid (an unknown recipe, a wrong weight), SnapshotInvalid (a snapshot is
missing, corrupt, or of another format). See docs/in_a_service.md for all that a router does.

`router.store` reads snapshot stores. Around the router: `quartermaster.evaluation` measures it on judged requests,
`quartermaster.adapters` stands behind agent frameworks, `quartermaster.serving` serves it, `quartermaster.calling`
calls the tools.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from router.errors import (
    NothingSelected,
    QuartermasterError,
    RequestInvalid,
    SettingsInvalid,
    SnapshotInvalid,
    SnapshotUntrusted,
)

if TYPE_CHECKING:
    from router.answer.diagnosis import Diagnosis
    from router.answer.explanation import ToolNeed, ToolResolver
    from router.answer.reranking import Reranking, RerankingFailed, cross_encoder
    from router.answer.results import Dropped, NeededBy, RoutedTool, RoutedTools
    from router.contract import Manifest, Signal
    from router.dialogue.stable_selection import StableSelection
    from router.dialogue.turn import Turn
    from router.feedback import FeedbackLog, FeedbackStatistics, Outcome
    from router.provider_formats.formats import Detail, ProviderFormat, VendorText
    from router.provider_formats.rendering import Rendered, render
    from router.record import Link, Origin, Parameter, ToolRecord
    from router.retrieval.recipe import RECIPES, Fusion, Normalization, Recipe
    from router.retrieval.retrievers import DenseView
    from router.router import Router
    from router.search.conversation import Message
    from router.selection.profile import Profile
    from router.selection.settings import Selection, Weights
    from router.snapshot.cached_encoder import CacheStatistics

    __version__: str
else:
    # Lazily (PEP 562): a program pays for what it uses, and reading the version of a distribution takes long.
    _MODULE_OF = {
        name: module
        for module, names in {
            "router.answer.diagnosis": "Diagnosis",
            "router.answer.explanation": "ToolNeed ToolResolver",
            "router.answer.reranking": "Reranking RerankingFailed cross_encoder",
            "router.answer.results": "Dropped NeededBy RoutedTool RoutedTools",
            "router.contract": "Manifest Signal",
            "router.dialogue.stable_selection": "StableSelection",
            "router.dialogue.turn": "Turn",
            "router.feedback": "FeedbackLog FeedbackStatistics Outcome",
            "router.provider_formats.formats": "Detail ProviderFormat VendorText",
            "router.provider_formats.rendering": "Rendered render",
            "router.record": "Link Origin Parameter ToolRecord",
            "router.retrieval.recipe": "RECIPES Fusion Normalization Recipe",
            "router.retrieval.retrievers": "DenseView",
            "router.router": "Router",
            "router.search.conversation": "Message",
            "router.selection.profile": "Profile",
            "router.selection.settings": "Selection Weights",
            "router.snapshot.cached_encoder": "CacheStatistics",
        }.items()
        for name in names.split()
    }

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from router.distribution import version

            return version()
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)  # the next use finds it at once
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULE_OF})


__all__ = [
    "RECIPES",
    "CacheStatistics",
    "DenseView",
    "Detail",
    "Diagnosis",
    "Dropped",
    "FeedbackLog",
    "FeedbackStatistics",
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
    "ProviderFormat",
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
