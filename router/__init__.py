"""Quartermaster's router: the few tools that fit a request, out of thousands, in milliseconds.

    from router import Router

    router = Router.open(".quartermaster/snapshots/demo")
    for tool in router.route("pull failed payments and tell the team", k=5, explain=True):
        print(tool.tool_id, tool.ranks, tool.phrase)

    tools = router.select("refund the last order", k=5, token_budget=2_000)     # records alone

It reads a snapshot that `quartermaster build` published and needs neither torch, prefect, openai nor
sentence-transformers. What a method raises stands in `router.errors`; the metrics stand in `router.evaluation`.
"""

from router.contract import Manifest, Signal
from router.errors import QuartermasterError, RequestInvalid, SettingsInvalid, SnapshotInvalid
from router.recipe import RECIPES, Fusion, Recipe
from router.record import Origin, Parameter, ToolRecord
from router.retrievers import DenseView
from router.router import RoutedTool, RoutedTools, Router

__all__ = [
    "RECIPES",
    "DenseView",
    "Fusion",
    "Manifest",
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
