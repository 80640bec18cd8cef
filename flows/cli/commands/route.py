"""search and explain: a request in, tools out, with the reasons."""

import json
from typing import Annotated, Optional

import typer

from flows.cli.commands.arguments import (
    WORKSPACE,
    At,
    Budget,
    Catalog,
    Category,
    Confidence,
    Json,
    Limit,
    RecipeName,
    Request,
    SelectionFile,
    Workspace,
    open_router,
)
from router import Signal
from router.contract import DOCUMENT_SIGNALS
from router.errors import SettingsInvalid


def search(
    request: Request,
    k: Limit = 10,
    recipe: RecipeName = None,
    selection: SelectionFile = None,
    category: Category = None,
    category_confidence: Confidence = None,
    token_budget: Budget = None,
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: At = None,
    as_json: Json = False,
) -> None:
    """Find the tools that fit a request, best first."""
    from flows.output.answer import routed_table, show_left_out, show_verdict
    from flows.output.screen import out

    routed = open_router(snapshot, workspace, catalog, selection).route(
        request,
        k=k,
        recipe=recipe,
        category=category,
        category_confidence=category_confidence,
        token_budget=token_budget,
    )
    if as_json:
        print(json.dumps(routed.to_json(), ensure_ascii=False))
        return
    show_verdict(routed)
    if len(routed):
        out.print(routed_table(routed))
    elif not routed.dropped:
        out.print("no tool has anything in common with the request")
    show_left_out(routed)


def explain(
    request: Request,
    tool: Annotated[Optional[str], typer.Argument(help="A tool id: explain the rank of this one tool.")] = None,
    k: Limit = 10,
    recipe: RecipeName = None,
    selection: SelectionFile = None,
    category: Category = None,
    category_confidence: Confidence = None,
    token_budget: Budget = None,
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: At = None,
    as_json: Json = False,
) -> None:
    """Explain an answer: ranks, shares, nearest phrases.

    Shows for each tool its rank and its share of the score by signal, and its phrase nearest to the request; then what
    was left out, and why. With a TOOL, shows its rank in every list, however far down, whatever a selection says.
    """
    from flows.output.answer import explained_table, show_left_out, show_verdict
    from flows.output.screen import out, plain

    made = {"--selection": selection, "--category": category, "--token-budget": token_budget}
    if tool is not None and (in_vain := [name for name, value in made.items() if value is not None]):
        raise SettingsInvalid(
            f"with a TOOL its rank in every list is shown, whatever a selection says: leave out {in_vain[0]}"
        )
    router = open_router(snapshot, workspace, catalog, selection)
    if tool is None:
        routed = router.route(
            request,
            k=k,
            explain=True,
            recipe=recipe,
            category=category,
            category_confidence=category_confidence,
            token_budget=token_budget,
        )
        if as_json:
            print(json.dumps(routed.to_json(), ensure_ascii=False))
        else:
            show_verdict(routed)
            out.print(explained_table(routed))
            show_left_out(routed)
            out.print(
                "for each list: the tool's rank in it, and the share of the score that it contributes", style="dim"
            )
            generic = "" if routed.calibrated else " (not calibrated for this catalog)"
            fits = "" if routed.fits is None else f"some tool fits: {routed.fits:.2f}{generic}, "
            out.print(f"{fits}recipe {routed.recipe}, snapshot {routed.snapshot}", style="dim")
        return
    found, rank = router.explain(request, tool, recipe=recipe)
    if as_json:
        print(json.dumps({"rank": rank, **found.to_json()}, ensure_ascii=False))
        return
    depth = router.recipe(recipe).depth
    place = f"rank {rank} of {len(router)}" if rank else f"not in the first {depth} of any list"
    out.print(plain(f"{found.tool_id}: {place}"), soft_wrap=True)
    for signal in Signal:
        if signal not in DOCUMENT_SIGNALS and signal not in router.manifest.signals:
            continue
        at = found.ranks.get(signal)
        if at is None:
            given = found.contributions.get(signal)
            assumed = f"  contributes {given:.4f}: assumed, because the tool has no expansion" if given else ""
            out.print(f"  {signal:<12} not in the list{assumed}")
            continue
        gives = (
            f"nothing: the recipe reads the first {depth} only"
            if at > depth
            else f"{found.contributions.get(signal, 0):.4f}"
        )
        out.print(f"  {signal:<12} rank {at:>6}  contributes {gives}")
    if found.step:
        out.print(plain(f"  step         contributes {found.gain:.4f}: {found.step}"), soft_wrap=True)
    if found.phrase:
        out.print(plain(f"  nearest phrase: {found.phrase}"), soft_wrap=True)
