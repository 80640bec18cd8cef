"""A request answered by one snapshot: what it finds, cut to k, each tool with its record and its reasons."""

from collections.abc import Sequence
from dataclasses import replace

from router.asking import Found, clean, find, fits, rank
from router.cached_encoder import cached
from router.contract import Signal
from router.errors import RequestInvalid, SettingsInvalid
from router.packing import pack
from router.reasoned import Reasoned, also_from
from router.recipe import RECIPES, Recipe
from router.record import ToolRecord
from router.routed import RoutedTool, RoutedTools
from router.snapshot import Snapshot
from router.steps import Steps, find_steps


def recipe_of(snapshot: Snapshot, recipe: str | Recipe | None) -> Recipe:
    """The recipe that a name stands for; the snapshot's own for None. Raises SettingsInvalid."""
    if recipe is None:
        return snapshot.recipe
    if isinstance(recipe, Recipe):
        return recipe
    if recipe not in RECIPES:
        raise SettingsInvalid(f"there is no recipe {recipe!r}: choose from {', '.join(RECIPES)}")
    return RECIPES[recipe]


def answer(snapshot: Snapshot, request: str, k: int, explain: bool, recipe: Recipe) -> RoutedTools:
    """The `k` tools that best fit a clean request."""
    found = find(snapshot, request, recipe)
    ordinals, scores = found.ranking.ordinals[:k].tolist(), found.ranking.scores[:k].tolist()
    if explain:
        reasons = Reasoned(snapshot, found, found.rankings, ordinals)
        tools = tuple(reasons.tool(*pair) for pair in zip(ordinals, scores, strict=True))
    else:
        tools = tuple(_tool(snapshot, found, *pair) for pair in zip(ordinals, scores, strict=True))
    fit = fits(snapshot, found, recipe)
    probability, some = fit or (None, True)
    return RoutedTools(tools, snapshot.manifest.snapshot, recipe.name, probability, not some, found.steps.texts)


def with_vectors(snapshot: Snapshot, requests: Sequence[str], recipe: Recipe) -> Snapshot:
    """The snapshot with the vectors of these clean requests, and of their steps, at hand: made in batches."""
    if not requests or not (recipe.weights.get(Signal.DENSE) or recipe.weights.get(Signal.INTENT)):
        return snapshot
    steps = [find_steps(request) if recipe.steps else Steps() for request in requests]
    ahead = cached(snapshot, len(requests) + sum(map(len, steps)))
    if ahead.encoder is None:
        return snapshot
    texts: list[str] = []
    for request, found in zip(requests, steps, strict=True):
        if not found or ahead.encoder.encode_parts(found.request, found.spans) is None:
            texts += [request, *found.texts]
    ahead.encoder.encode_requests(texts)
    return ahead


def records_within(snapshot: Snapshot, request: str, k: int, token_budget: int) -> list[ToolRecord]:
    """The records of the candidates of a clean request that fit a budget of tokens, best first, at most `k`."""
    found = find(snapshot, request, snapshot.recipe).ranking
    taken = pack(snapshot.token_counts[found.ordinals].tolist(), token_budget, k)
    return [snapshot.records.entry(int(found.ordinals[position])).record for position in taken]


def explanation(snapshot: Snapshot, request: str, tool_id: str, recipe: Recipe) -> tuple[RoutedTool, int | None]:
    """A tool with its rank in every whole list, and its fused rank; raises RequestInvalid where there is none such."""
    ordinal = snapshot.records.ordinal(tool_id)
    if ordinal is None:
        raise RequestInvalid(f"the snapshot {snapshot.manifest.snapshot} has no tool {tool_id!r}")
    # A tool that stands under its twin has a place of its own here.
    found = find(snapshot, clean(request), replace(recipe, collapse=False))
    place = found.ranking.rank_of(ordinal)
    score = float(found.ranking.scores[place - 1]) if place else 0.0
    whole = rank(snapshot, found.request, recipe, max(len(snapshot.records), 1))
    return Reasoned(snapshot, found, whole, [ordinal]).tool(ordinal, score), place


def _tool(snapshot: Snapshot, found: Found, ordinal: int, score: float) -> RoutedTool:
    record = snapshot.records.entry(ordinal).record
    return RoutedTool(record.tool_id, record, score, also_from=also_from(snapshot, found, ordinal))
